"""The compiled observation: graph breaks, recompiles, and the kernels that Inductor would launch."""

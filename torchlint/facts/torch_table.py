"""What torch's own callables mean beyond what torch_api/ tells: factories, attributes, modules, distributions."""

from __future__ import annotations

# Classes whose objects are tensors, on the CPU unless `device=` says otherwise.
TENSOR_CLASSES = frozenset(
    """Tensor FloatTensor LongTensor IntTensor BoolTensor DoubleTensor HalfTensor ByteTensor BFloat16Tensor ShortTensor
    CharTensor""".split()
)
ATTRIBUTES_NOT_TENSOR = {
    "shape": "size",
    "dtype": "dtype",
    "device": "device",
    "layout": "instance",
    "ndim": "number",
    "is_cuda": "number",
    "is_cpu": "number",
    "is_leaf": "number",
    "is_sparse": "number",
    "is_quantized": "number",
    "is_meta": "number",
    "is_nested": "number",
    "requires_grad": "number",
    "grad_fn": "instance",
    "name": "str",
    "nbytes": "number",
    "itemsize": "number",
    "output_nr": "number",
    "_version": "number",
}
TENSOR_ATTRIBUTES = frozenset("data grad T mT H mH real imag".split())

CAUSAL_MASK = "torch.nn.Transformer.generate_square_subsequent_mask"
"""A static method that fills a mask of that size, on the host unless it is told where, as `torch.full` does."""

# Methods and attributes that only tensors have (not arrays, not modules): an unknown value used so is a tensor.
# The list holds what torch.Tensor has and numpy.ndarray, str, list, dict, pandas do not, nor nn.Module.
TENSOR_ONLY = frozenset(
    """backward detach detach_ retain_grad unsqueeze unsqueeze_ permute contiguous masked_fill
    masked_fill_ masked_select softmax log_softmax expand_as view_as scatter scatter_ scatter_add_ index_select
    new_zeros new_ones new_full new_tensor new_empty type_as is_cuda clamp clamp_ clamp_min clamp_max bmm mm
    addmm addcmul_ addcdiv_ mul_ add_ sub_ div_ zero_ fill_ copy_ normal_ uniform_ sigmoid sigmoid_ relu relu_ exp_
    logsumexp nansum nanmean topk chunk unbind narrow cumsum_ log1p rsqrt bernoulli_ numel nelement
    index_copy_ index_fill_ index_add_ grad_fn unfold movedim swapaxes_ tril triu
    sqrt_ pow_ abs_ matmul isnan isinf byte""".split()
)
# Functions of torch, and of torch.nn.functional, whose first argument, or first two, nothing but a tensor can be.
TAKES_TENSOR = frozenset(
    """sigmoid softmax log_softmax relu gelu silu elu leaky_relu tanh exp log log2 log1p sqrt rsqrt abs square neg sin cos floor ceil
    sum mean std var prod max min amax amin argmax argmin any all topk sort argsort cumsum cumprod norm unique nonzero masked_select
    masked_fill gather index_select take_along_dim flatten squeeze unsqueeze transpose permute reshape flip roll clamp isnan isinf
    isfinite logsumexp matmul bmm mm triu tril diag repeat_interleave zeros_like ones_like full_like empty_like rand_like randn_like
    interpolate pad dropout normalize one_hot grid_sample conv1d conv2d conv3d linear layer_norm batch_norm max_pool2d avg_pool2d
    adaptive_avg_pool2d softplus logsigmoid embedding unfold fold pixel_shuffle""".split()
)
TAKES_TENSORS = frozenset(
    """cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits
    cosine_similarity pairwise_distance""".split()
)
GIVEN_NOTHING = frozenset(
    """detach detach_ retain_grad zero_ sigmoid sigmoid_ relu relu_ exp_ log1p rsqrt numel nelement sqrt_ abs_ isnan
    isinf byte""".split()
)
"""Those of them that take nothing by position: `ops.sigmoid(x)` is a function of something else."""

# Functions of libraries for graphs that give a tensor, where those live that they are given.
_OF_GRAPHS = {
    "torch_geometric.nn": "global_add_pool global_mean_pool global_max_pool knn radius fps knn_graph radius_graph",
    "torch_geometric.utils": "degree scatter segment softmax to_dense_adj negative_sampling",
    "torch_scatter": """scatter scatter_add scatter_sum scatter_mul scatter_mean scatter_std scatter_softmax
    scatter_log_softmax scatter_logsumexp segment_csr segment_coo gather_csr gather_coo""",
    "dgl": """sum_nodes mean_nodes max_nodes readout_nodes softmax_nodes sum_edges mean_edges max_edges readout_edges
    softmax_edges""",
}
TENSORS_OF_GRAPHS = frozenset(f"{module}.{name}" for module, found in _OF_GRAPHS.items() for name in found.split())

# Operators that only put elements in other places: what they give has the dtype of their first tensors.
KEEP_DTYPE = frozenset(
    """stack cat concat concatenate hstack vstack dstack column_stack row_stack block_diag flip fliplr flipud roll rot90
    repeat tile gather index_select take take_along_dim repeat_interleave triu tril diag diag_embed bitwise_not masked_fill
    index_fill scatter ones_like zeros_like empty_like full_like clone""".split()
)

# Functions of one tensor that work on each element: one number gives one number.
UNARY = frozenset(
    "abs neg square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sigmoid floor ceil".split()
)

# Calls that give back what they were given, with a moved or wrapped meaning.
PASS_THROUGH = frozenset(
    (
        "torch.compile",
        "torch.jit.script",
        "torch.jit.trace",
        "torch.jit.freeze",
        "torch.jit.optimize_for_inference",
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard",
        "torch.distributed._composable.replicate",
        "deepspeed.initialize",
        "torch.nn.utils.weight_norm",
        "torch.nn.utils.spectral_norm",
        "torch.nn.utils.parametrizations.weight_norm",
        "torch.nn.utils.parametrizations.spectral_norm",
        "torch.quantization.convert",
        "torch.ao.quantization.convert",
        "peft.get_peft_model",
    )
)
# Calls that give another one of what they were given, whatever it is.
COPIES = frozenset(("copy.copy", "copy.deepcopy"))
TAKES_LOSS = frozenset(("backward", "manual_backward", "scale"))
"""What an engine, an accelerator or a scaler is asked for with a loss: `accelerator.backward(loss)`, `scaler.scale(loss)`."""
NUMBERS = frozenset(f"{module}.{name}" for module in ("math", "numpy", "torch") for name in ("inf", "pi", "nan", "e"))
"""Constants: `math.pi`, `torch.inf`."""
DTYPES = frozenset(
    f"torch.{name}"
    for name in """float16 float32 float64 bfloat16 half float double int8 int16 int32 int64 uint8 uint16 uint32 uint64
    short int long bool complex32 complex64 complex128 cfloat cdouble chalf float8_e4m3fn float8_e5m2""".split()
)
# Wrappers around an iterable that leave its elements alone.
ITERATION_WRAPPERS = frozenset(
    "tqdm tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm trange iter reversed sorted list tuple cycle islice "
    "itertools.cycle itertools.islice rich.progress.track track prange tqdm.rich.tqdm alive_it progressbar "
    "more_itertools.peekable fastprogress.progress_bar fastprogress.fastprogress.progress_bar".split()
)

DISTRIBUTIONS = frozenset(
    """Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential FisherSnedecor Gamma
    GeneralizedPareto Geometric Gumbel HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy LKJCholesky Laplace
    LogNormal LogisticNormal LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial
    Normal OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson RelaxedBernoulli RelaxedOneHotCategorical
    StudentT TransformedDistribution Uniform VonMises Weibull Wishart""".split()
)
DISTRIBUTION_TENSORS = frozenset(
    "sample rsample sample_n log_prob entropy cdf icdf perplexity mean mode stddev variance probs logits loc scale enumerate_support".split()
)

# Bases outside a project that are modules of torch.
MODULE_BASES = frozenset(
    """LightningModule PreTrainedModel ModelMixin PyTorchModelHubMixin GenerationMixin GradientCheckpointingLayer
    MessagePassing FairseqModel BaseFairseqModel FairseqEncoder FairseqDecoder TorchModelV2 ScriptModule""".split()
)
# Classes of these libraries made by `from_pretrained` that are no modules.
NO_MODULE_SUFFIXES = tuple(
    "Tokenizer TokenizerFast Processor Scheduler Config FeatureExtractor Pipeline ImageProcessor Adapter".split()
)

# What switches autograd off, as a context or a decorator.
OFF = frozenset(("no_grad", "inference_mode"))

# Methods that Lightning, and the trainers made like it, call on each batch of an evaluation or a prediction, without gradients.
EVALUATION_STEPS = frozenset(("validation_step", "test_step", "predict_step"))
# What else is called so beside a `train_step`, by frameworks that may leave it to the method to turn gradients off.
OTHER_EVALUATION_STEPS = frozenset(("eval_step", "val_step", "valid_step"))

# Bases of what `generate` of transformers calls for each token, with how many tensors it gives that.
TOKEN_CALLS = {"LogitsProcessor": 2, "LogitsWarper": 2, "StoppingCriteria": 1}

# Bases of models whose methods of these names it calls for each token.
GENERATING_MODELS = ("PreTrainedModel", "ForCausalLM", "ForConditionalGeneration", "GenerationMixin")
TOKEN_METHODS = frozenset(("prepare_inputs_for_generation", "_reorder_cache", "_update_model_kwargs_for_generation"))

# Loaders of libraries that are torch's, and hand on its options by name.
PINNING_LOADERS = frozenset(
    (
        "torch_geometric.loader.DataLoader",
        "torch_geometric.data.DataLoader",
        "torch_geometric.loader.DenseDataLoader",
        "torch_geometric.data.DenseDataLoader",
        "monai.data.DataLoader",
        "torchdata.stateful_dataloader.StatefulDataLoader",
        "torchmeta.utils.data.BatchMetaDataLoader",
        "torchmeta.utils.data.dataloader.BatchMetaDataLoader",
    )
)
# A graph of DGL has no `pin_memory()`, which torch's loader would call.
LIBRARY_LOADERS = PINNING_LOADERS | {"dgl.dataloading.GraphDataLoader"}
# DGL's loaders of parts of one graph, which move them to the device that they are given.
MOVING_LOADERS = frozenset(f"dgl.dataloading.{name}" for name in ("DataLoader", "NodeDataLoader", "EdgeDataLoader"))
# PyTorch Geometric's loaders of parts of one graph, which may be on the device: what is pinned is not.
SAMPLING_LOADERS = frozenset(
    f"torch_geometric.{home}.{name}"
    for home in ("loader", "data")
    for name in """NeighborLoader LinkNeighborLoader HGTLoader ClusterLoader RandomNodeLoader ShaDowKHopSampler GraphSAINTSampler
    GraphSAINTNodeSampler GraphSAINTEdgeSampler GraphSAINTRandomWalkSampler""".split()
)
WALKERS = frozenset(
    f"torch_geometric.nn.{home}{name}" for home in ("", "models.") for name in ("Node2Vec", "MetaPath2Vec")
)
"""Models whose `loader(**options)` is torch's loader of the walks that they draw on the host."""

# What a tensor tells of itself without a look at its elements: by attributes, and by methods.
TOLD = frozenset(("shape", "device", "dtype", "ndim"))
TOLD_BY_CALL = frozenset(("size", "dim", "numel"))

"""What source code says about itself, asked for piece by piece: names, flow, values, guards, grad mode."""

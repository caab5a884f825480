"""Will a model run at a parallelism on a GPU: weights, KV cache, budget and the constraints that engines raise. Pure arithmetic on
facts."""

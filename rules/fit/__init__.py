"""Memory and conditions of engines: can a server start at its parallelism on its GPUs?"""

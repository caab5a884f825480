"""Settings of TensorRT-LLM that are known to exist in some release (``LlmArgs``, top level). The list is not complete for any release.

Sources: the interface that TensorRT-LLM promises to keep (``tests/unittest/api_stability``), and settings in published recipes that ran.
"""

from __future__ import annotations

import difflib

_NAMES = """
allreduce_strategy attention_dp_config attn_backend auto_parallel backend batched_logits_processor batching_type build_config
cache_transceiver_config calib_config checkpoint_format checkpoint_loader context_parallel_size cp_config cuda_graph_config
custom_tokenizer decoding_config disable_overlap_scheduler dtype embedding_parallel_mode enable_attention_dp enable_autotuner
enable_build_cache enable_chunked_prefill enable_iter_perf_stats enable_iter_req_stats enable_layerwise_nvtx_marker
enable_lm_head_tp_in_adp enable_lora enable_min_latency enable_mixed_sampler enable_prompt_adapter enable_tqdm
enable_trtllm_sampler env_overrides extended_runtime_perf_knob_config fail_fast_on_attention_window_too_large fast_build
force_dynamic_quantization garbage_collection_gen0_threshold gather_generation_logits gpus_per_node guided_decoding_backend
iter_stats_max_iterations kv_cache_config kv_cache_dtype kv_connector_config load_format lora_config max_batch_size max_beam_width
max_input_len max_num_tokens max_prompt_adapter_token max_seq_len mm_encoder_only model moe_cluster_parallel_size moe_config
moe_expert_parallel_size moe_tensor_parallel_size mpi_session normalize_log_probs num_postprocess_workers num_serve_frontends
nvfp4_gemm_config orchestrator_type otlp_traces_endpoint peft_cache_config perf_metrics_max_requests pipeline_parallel_size
postprocess_tokenizer_dir print_iter_log quant_config ray_worker_extension_cls reasoning_parser request_stats_max_iterations
return_perf_metrics revision sampler_type scheduler_config skip_tokenizer_init sparse_attention_config speculative_config
speculative_model stream_interval tensor_parallel_size tokenizer tokenizer_mode tokenizer_revision tool_parser
torch_compile_config trust_remote_code workspace
"""
KEYS = frozenset(_NAMES.split())


def meant(key: str) -> str | None:
    """The setting that ``key`` was probably meant to be; ``None`` where it is one, or is like none."""
    if key in KEYS:
        return None
    close = difflib.get_close_matches(key, sorted(KEYS), 1, 0.86)
    return close[0] if close else None

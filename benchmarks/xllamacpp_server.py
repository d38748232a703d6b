"""Runs in the environment of the wheel ``xllamacpp``: serves a GGUF model by the HTTP server of llama.cpp.

python xllamacpp_server.py MODEL PORT SLOTS CONTEXT THREADS unified|separate
"""

import signal
import sys

import xllamacpp


def main() -> None:
    model, layout = sys.argv[1], sys.argv[6]
    port, slots, context, threads = map(int, sys.argv[2:6])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.port = port
    parameters.n_parallel = slots
    parameters.n_ctx = context
    parameters.kv_unified = layout == "unified"
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.use_jinja = True
    server = xllamacpp.Server(parameters)
    print(xllamacpp.get_system_info(), server.listening_address, sep="\n", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()

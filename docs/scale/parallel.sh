#!/bin/bash
# Sixteen shards on one host against one server, four at a time, then one report.
#
#   ./parallel.sh http://127.0.0.1:8080/
seq 0 15 | parallel -j 4 confute http "$1" --seed 7 --cases 1600 --max-time 1h --shard {}/16 --resume results/{} --quiet
confute merge results/[0-9]* --report-dir results/merged

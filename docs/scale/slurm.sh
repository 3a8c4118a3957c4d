#!/bin/bash
# One task of a Slurm array: starts a server, tests its shard of the campaign, ends the server.
#
#   sbatch slurm.sh                  all shards
#   sbatch --array=5 slurm.sh        shard 5 again, from where it was
#
# A task that is requeued, or killed and submitted again, goes on where it was: `--resume` does that.
#SBATCH --job-name=confute
#SBATCH --array=0-15
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=confute-%a.log

SHARDS=${SHARDS:-16}                 # as many as the array has
SEED=${SEED:-7}                      # one seed for all shards
CASES=${CASES:-100000}               # of all shards together
RESULTS=${RESULTS:-$PWD/results}     # a folder that all nodes share
CONFUTE=${CONFUTE:-confute}
SERVER=${SERVER:-'my-server --port $PORT'}
PORT=$((20000 + SLURM_ARRAY_TASK_ID))

# Each task has a server of its own, on a port of its own.
eval "exec $SERVER" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null' EXIT

# At most 30 seconds until it accepts connections.
for _ in $(seq 300); do
  (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && break
  kill -0 "$server" 2>/dev/null || { echo "the server has ended" >&2; exit 3; }
  sleep 0.1
done

# The number of shards is given, because a task that is submitted alone is an array of one.
"$CONFUTE" http "http://127.0.0.1:$PORT/" --seed "$SEED" --cases "$CASES" --max-time 4h \
  --shard "auto/$SHARDS" --resume "$RESULTS/$SLURM_ARRAY_TASK_ID" --quiet

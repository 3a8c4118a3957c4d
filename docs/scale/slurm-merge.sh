#!/bin/bash
# Merges the shards when all tasks of the array have ended, whatever their exit codes:
#
#   sbatch --dependency=afterany:$(sbatch --parsable slurm.sh) slurm-merge.sh
#
# The exit code of this job is that of the whole campaign: 0 unrefuted, 1 refuted, 3 something is missing.
#SBATCH --job-name=confute-merge
#SBATCH --output=confute-merge.log

RESULTS=${RESULTS:-$PWD/results}
CONFUTE=${CONFUTE:-confute}
"$CONFUTE" merge "$RESULTS"/[0-9]* --report-dir "$RESULTS/merged"

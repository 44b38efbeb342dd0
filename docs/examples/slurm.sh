#!/bin/bash
#SBATCH --job-name=mmaproof
#SBATCH --ntasks=64
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=4G
#SBATCH --time=04:00:00
# One scheduler, one client and workers in one job: sbatch slurm.sh. Every node needs the same environment.
set -euo pipefail
address=tcp://$(hostname):8786

python -m dask scheduler --port 8786 --no-dashboard &
# a worker ends when its scheduler does, and comes back with it
srun --ntasks="$((SLURM_NTASKS - 1))" --overlap bash -c '
    while :; do
        python -m dask worker "$0" --nthreads 1 --no-nanny --no-dashboard --local-directory "${TMPDIR:-/tmp}"
        sleep 5
    done' "$address" &
# workers come one by one: the command waits for the first alone
sleep 60
mmaproof matrix --all --dask "$address" --json -o "$SLURM_SUBMIT_DIR/matrix.json"
kill %1 %2

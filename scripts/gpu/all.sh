#!/bin/bash
# Everything that is measured on a GPU, into the folder OUT, in minutes: bash scripts/gpu/all.sh OUT SECONDS_OF_TIMES [PART ...]
# Parts: doctor calibrate times waits programs compiled faults prove
out=$1; seconds=$2; shift 2
cd "$(dirname "$0")" || exit 1
export PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=/tmp/inductor
for part in "$@"; do
  began=$(date +%s)
  case $part in
    doctor) timeout 100 python3 -m torchlint doctor >"$out/doctor.txt" 2>&1 ;;
    calibrate) timeout 100 python3 -m torchlint calibrate "$out/calibration.json" --gpu "${GPU:-h100}" >"$out/calibrate.txt" 2>&1 ;;
    times) timeout $((seconds + 30)) python3 times.py "$out/times.json" --seconds "$seconds" >"$out/times.txt" 2>&1 ;;
    waits)
      for i in 0 1 2 3 4 5 6; do timeout 150 python3 waits.py "$out/waits-$i.json" --shard $i/7 >"$out/waits-$i.txt" 2>&1 & done
      for i in 0 1 2 3 4 5 6; do CUDA_VISIBLE_DEVICES= OMP_NUM_THREADS=1 timeout 150 python3 waits.py "$out/virtual-waits-$i.json" --shard $i/7 --virtual >"$out/virtual-waits-$i.txt" 2>&1 & done
      wait ;;
    programs)
      timeout 140 python3 programs.py "$out/programs.json" --jobs 8 >"$out/programs.txt" 2>&1 &
      CUDA_VISIBLE_DEVICES= timeout 140 python3 programs.py "$out/virtual-programs.json" --virtual --jobs 8 >"$out/virtual-programs.txt" 2>&1 &
      wait ;;
    compiled)
      names=$(python3 -c 'import compiled; print(*(one.__name__ for one in compiled.ALL))')
      for name in $names; do echo "$name cuda"; echo "$name virtual"; echo "$name profile"; done |
        OMP_NUM_THREADS=2 xargs -P 14 -L 1 bash -c 'export TORCHINDUCTOR_COMPILE_THREADS=2; case $1 in
          profile) timeout 140 python3 compiled.py '"$out"'/compiled-$0.json $0 >'"$out"'/compiled-$0.txt 2>&1 ;;
          *) [ $1 = virtual ] && export CUDA_VISIBLE_DEVICES=; timeout 140 python3 -m torchlint trace compiled:$0 --steps 3 --pass compile --device $1 --output-format json >'"$out"'/trace-$0-$1.json 2>'"$out"'/trace-$0-$1.txt ;;
        esac' ;;
    faults) timeout 120 python3 faults.py "$out/faults.json" >"$out/faults.txt" 2>&1 ;;
    trace)
      for device in cuda virtual; do
        timeout 60 python3 -m torchlint trace faults.py --device $device --pass eager --steps 4000 --seconds 25 --output-format json -- /tmp/faults.json >"$out/trace-$device.json" 2>"$out/trace-$device.txt" &
      done
      wait ;;
    prove)
      timeout 90 python3 -m torchlint optimize ../../docs/demo/train.py --select TL101,TL402 --seconds 75 >"$out/optimize.txt" 2>&1 ;;
  esac
  echo "$part: $(($(date +%s) - began)) s"
done

/** Processor time and memory of a process, from /proc. https://docs.kernel.org/filesystems/proc.html */
import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds of processor time by the name of the thread. Threads of the same name count together. */
export type ThreadTimes = ReadonlyMap<string, number>

/** Returns the processor time that each thread has used since it started. https://docs.kernel.org/scheduler/sched-stats.html */
export function threadTimesOf({ pid }: ChildProcess): ThreadTimes {
  const times = new Map<string, number>()
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const read = (file: string): string => readFileSync(`/proc/${pid}/task/${task}/${file}`, 'utf8')
    const name = read('comm').trim()
    times.set(name, (times.get(name) ?? 0) + Number(read('schedstat').split(' ')[0]) / 1e6)
  }
  return times
}

/** Returns the difference, divided by `count`. */
export const threadTimesBetween = (before: ThreadTimes, after: ThreadTimes, count = 1): ThreadTimes =>
  new Map([...after].map(([name, ms]) => [name, (ms - (before.get(name) ?? 0)) / count]))

/** Returns the processor time of all threads. */
export const sumOfThreads = (times: ThreadTimes): number => [...times.values()].reduce((sum, ms) => sum + ms, 0)

/** Returns the memory in MB: now (`VmRSS`), or the most so far (`VmHWM`). */
export const memoryOf = ({ pid }: ChildProcess, field: 'VmRSS' | 'VmHWM'): number =>
  Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)

/** Measures how much of the processors other processes use during a bench. https://man7.org/linux/man-pages/man5/proc_stat.5.html */
import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks of the processors. `busy`: used by all processes and by other virtual machines; `own`: used by the bench; `all`: busy and idle. */
type Used = { readonly all: number; readonly busy: number; readonly own: number }

type Process = { readonly pid: number; readonly parent: number; readonly ticks: number }

/** Returns a function that returns the percentage of all processors that other processes have used since this call. */
export function otherProcesses(): () => number {
  const before = used()
  return () => {
    const now = used()
    const others = now.busy - before.busy - (now.own - before.own)
    return Math.round((Math.max(0, others) * 100) / Math.max(1, now.all - before.all))
  }
}

function used(): Used {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const busy = user + nice + system + irq + softirq + steal
  return { all: busy + idle + iowait, busy, own: ownTicks(processes()) }
}

/** Returns the ticks of this process and of all processes that it started, including those that have ended. */
function ownTicks(all: readonly Process[]): number {
  const below = (pid: number): number =>
    all.filter(({ parent }) => parent === pid).reduce((sum, child) => sum + child.ticks + below(child.pid), 0)
  return all.find(({ pid }) => pid === process.pid)!.ticks + below(process.pid)
}

const processes = (): readonly Process[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const [, parent] = statOf(name)
      return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent), ticks: ticksOf(name) }]
    })

/** Returns the clock ticks that a process and its ended children have used; 0 if it has ended. */
export const ticksOf = (pid: string): number =>
  statOf(pid)
    .slice(11, 15)
    .reduce((sum, each) => sum + Number(each), 0)

/** Returns the fields of `stat` after the process name, or none if the process has ended. The name may contain spaces and parentheses. */
function statOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}

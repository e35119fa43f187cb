/** Reads the profiles that `node --cpu-prof` writes for each thread. https://nodejs.org/api/cli.html#--cpu-prof */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Node = {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
}
type Profile = { readonly nodes: readonly Node[]; readonly samples: readonly number[]; readonly timeDeltas: readonly number[] }

/** Processor time in milliseconds by the name of a group of functions, or of a function. The largest come first. */
export type Share = readonly (readonly [name: string, ms: number])[]

export type ThreadProfile = { readonly groups: Share; readonly functions: Share; readonly ms: number }

/** Returns the profile of each thread, by the number of the thread. The serving thread has number 0. */
export function readProfiles(folder: string): ReadonlyMap<string, ThreadProfile> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  const threadOf = (name: string): string => name.split('.').at(-3)!
  return new Map(
    names
      .map((name) => [threadOf(name), profileOf(JSON.parse(readFileSync(join(folder, name), 'utf8')))] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function profileOf({ nodes, samples, timeDeltas }: Profile): ThreadProfile {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const [groups, functions] = [new Map<string, number>(), new Map<string, number>()]
  let all = 0
  const add = (to: Map<string, number>, name: string, ms: number) => to.set(name, (to.get(name) ?? 0) + ms)
  for (const [i, sample] of samples.entries()) {
    const frame = frames.get(sample)!
    if (frame.functionName === '(idle)') continue
    const ms = timeDeltas[i]! / 1_000
    all += ms
    add(groups, groupOf(frame), ms)
    add(functions, `${frame.functionName || '(anonymous)'} ${placeOf(frame)}`.trim(), ms)
  }
  const sorted = (times: Map<string, number>): Share => [...times].toSorted(([, a], [, b]) => b - a)
  return { groups: sorted(groups), functions: sorted(functions), ms: all }
}

/** Returns the folder of the function, the module of Node, or the name of a function that has no file. */
function groupOf({ functionName, url }: Node['callFrame']): string {
  const [, path = ''] = /(?:^|\/)((?:lambdas|bin|node_modules)\/.*)\/[^/]+$/.exec(url) ?? []
  if (path !== '') return path
  return url.startsWith('node:') ? url : `native: ${functionName}`
}

const placeOf = ({ url, lineNumber }: Node['callFrame']): string =>
  url === '' ? '' : `(${url.replace(/^.*\/(?=lambdas\/|bin\/|node_modules\/)/, '')}:${lineNumber + 1})`

/** Two servers that differ only in what one client may not see: same instants, same cursors, and each call at the ports is written down. */
import { createHash } from 'node:crypto'
import { CheckedClock } from '../../../lambdas/adapters/in-process/checked-clock.ts'
import type { QueryDigest } from '../../../lambdas/ports/security/query-digest.ts'
import type { Seal } from '../../../lambdas/ports/security/seal.ts'
import type { Stores } from '../../../lambdas/runtime/embedded/stores.ts'
import { openSite, type Site } from '../site.ts'
import { type Caller, maySee, mayWrite, type ScopeLetter, type StoredResource } from './oracle.ts'
import { applyStep, createPopulation, type Population, STEPS } from './population.ts'

export type World = Site & { readonly calls: string[]; at: (instant: number) => void }

/** Says all it knows: what differs in a cursor is seen. */
export const createOpenSeal: Seal & QueryDigest = {
  digest: (query) => createHash('sha256').update(query).digest('base64url'),
  seal: (text, at) => Buffer.from(JSON.stringify([text, at])).toString('base64url'),
  open(sealed) {
    const opened = Buffer.from(sealed, 'base64url').toString()
    if (!opened.startsWith('[')) return undefined
    const [text, at] = JSON.parse(opened) as [string, number]
    return { text, at }
  },
}

const LETTERS: readonly ScopeLetter[] = ['c', 'r', 'u', 'd', 's']

/** Nothing of it may be seen or changed. */
export function isHidden(who: Caller, kept: StoredResource, { find }: Population): boolean {
  return !kept.versions.some((version) =>
    LETTERS.some((letter) => maySee(who, letter, kept, version, find) || mayWrite(who, letter, kept, version, find)),
  )
}

/** With everything, and without what is hidden from the client. */
export async function openTwoWorlds(who: Caller, settings: Readonly<Record<string, string>>): Promise<readonly [World, World]> {
  return [await openWorld(settings, () => true), await openWorld(settings, (kept, all) => !isHidden(who, kept, all))]
}

const START = Date.now()

async function openWorld(
  settings: Readonly<Record<string, string>>,
  isThere: (kept: StoredResource, all: Population) => boolean,
): Promise<World> {
  let now = START
  const clock = new CheckedClock(() => undefined, { wall: () => now, steady: () => now, sinceBoot: () => now })
  const calls: string[] = []
  const site = await openSite({ settings, clock, seal: createOpenSeal, around: (stores) => watched(stores, calls) })
  const all = createPopulation()
  for (const step of STEPS) {
    now += 1_000
    if (isThere(all.find(step.tenant, `${step.type}/${step.id}`)!, all)) await applyStep(site.load, step)
  }
  calls.length = 0
  return {
    ...site,
    calls,
    at(instant) {
      now = START + (STEPS.length + instant) * 1_000
    },
  }
}

/** What the index must have seen is a position, which tells how much is written. */
const POSITIONS = ['caughtUp', 'countAfter']

/** What requests ask, whether or not it is in memory: entries of a batch take turns, and so decide what is. */
function watched({ store, requests, searcher, ...others }: Stores, calls: string[]): Stores {
  const watch = <Port extends object>(port: Port, name: string): Port =>
    new Proxy(port, {
      get(target, property) {
        const member: unknown = Reflect.get(target, property, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          const said = POSITIONS.includes(String(property))
            ? ''
            : JSON.stringify(args, (key, value) => (key === 'body' ? undefined : value))
          calls.push(`${name}.${String(property)} ${said}`)
          return member.apply(target, args)
        }
      },
    })
  return { ...others, store: watch(store, 'store'), requests: watch(requests, 'store'), searcher: watch(searcher, 'index') }
}

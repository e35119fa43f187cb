/**
 * How a write happens: find the resource it means, read its head, make the next version, commit it if the head is still that one.
 * A lost race starts over, so that what a write decided was decided on the version it follows.
 */
import { fhirError } from '../../fhir/outcome.ts'
import { IndexAhead } from '../../ports/faults/index-ahead.ts'
import type { Guard, ResourceKey, Write } from '../../ports/store/resource-store.ts'
import type { Awaitable, FhirRequest, FhirResponse, Interaction, Ports } from '../interaction.ts'
import { type Head, headFor } from './head-access.ts'
import { type Resolve, resolving } from './reference-resolution.ts'

export type WritePorts = Pick<Ports, 'resources' | 'heads' | 'writer' | 'latest' | 'clock' | 'expressions' | 'profiled' | 'choices'>

/** What one attempt needs. */
export type AttemptPorts = Omit<WritePorts, 'latest'> & Pick<Ports, 'index'>

export const attemptOf = ({ latest, ...ports }: WritePorts): AttemptPorts => ({ ...ports, index: latest() })

/** There is nothing to write; `key` is the resource the answer is about. */
export type Answer = { readonly kind: 'answer'; readonly response: FhirResponse; readonly key?: ResourceKey }

/** The resource a write means. */
export type Target = {
  readonly kind: 'target'
  readonly key: ResourceKey
  /** Found by criteria: the version that matched. Another head by now means: search again. */
  readonly matched?: number
  /** Nothing matched the criteria: no other write under the same criteria may come between. */
  readonly guard?: Guard
}

export type Change = { readonly kind: 'change'; readonly write: Write; readonly guards: readonly Guard[]; readonly response: FhirResponse }

/** Goes on at once where there is nothing to wait for. */
export const andThen = <T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** `resolve`: for whatever is to be stored. */
export type ChangePorts = AttemptPorts & { readonly resolve: Resolve }

/** The two halves of a writing interaction; a transaction runs them for all its entries before it commits once. */
export type WriteInteraction = {
  /** `holder`: the resource that holds the guard of these criteria, when a commit just met it. */
  readonly locate: (ports: AttemptPorts, request: FhirRequest, holder?: ResourceKey) => Awaitable<Target | Answer>
  readonly change: (ports: ChangePorts, request: FhirRequest, target: Target, head: Head | undefined) => Awaitable<Change | Answer>
}

/** So many times a write starts over before it answers 409. */
export const ATTEMPTS = 100

export const writing =
  (all: WritePorts, { locate, change }: WriteInteraction): Interaction =>
  async (request) => {
    let holder: ResourceKey | undefined
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const ports = attemptOf(all)
      const target = await locate(ports, request, holder)
      if (target.kind === 'answer') return target.response
      const [current] = await ports.heads([target.key])
      // guard: write-detects-moved-target
      if (movedOn(target, current)) continue
      const head = await headFor(request, current, ports)
      const changed = await change({ ...ports, resolve: resolving(ports, request) }, request, target, head)
      if (changed.kind === 'answer') return changed.response
      const result = await ports.writer.commit([changed.write], changed.guards, request)
      if (result.kind === 'committed') return changed.response
      holder = result.kind === 'guarded' ? result.holder : undefined
    }
    throw lostTooManyRaces()
  }

/** The resource that matched has another version by now. IndexAhead: it never had the one that matched. */
export function movedOn({ matched }: Pick<Target, 'matched'>, head: Head | undefined): boolean {
  if (matched === undefined) return false
  if (matched > (head?.versionId ?? 0)) throw new IndexAhead('criteria match a version that the store does not have')
  return head?.versionId !== matched
}

export const lostTooManyRaces = (): Error =>
  fhirError(409, 'conflict', 'Other writes to the same resources kept coming first: nothing was written, try again')

/**
 * How a write happens: find the resource it means, read its head, make the next version, commit it if the head is still that one.
 * A lost race starts over, so that what a write decided was decided on the version it follows.
 */
import { fhirError } from '../../fhir/outcome.ts'
import { IndexAhead } from '../../ports/faults/index-ahead.ts'
import type { ResourceKey, UniquenessGuard, Write } from '../../ports/store/resource-store.ts'
import type { Awaitable, FhirRequest, FhirResponse, Interaction, Ports } from '../interaction.ts'
import { authorizeHead, type Head } from './head-access.ts'
import { type ReferenceResolver, referenceResolver } from './reference-resolution.ts'

export type WritePorts = Pick<Ports, 'resources' | 'heads' | 'writer' | 'latest' | 'clock' | 'expressions' | 'profiled' | 'choices'>

/** What one attempt needs. */
export type AttemptPorts = Omit<WritePorts, 'latest'> & Pick<Ports, 'index'>

export const attemptPortsOf = ({ latest, ...ports }: WritePorts): AttemptPorts => ({ ...ports, index: latest() })

/** There is nothing to write; `key` is the resource the answer is about. */
export type ResponseWithoutWrite = { readonly kind: 'answer'; readonly response: FhirResponse; readonly key?: ResourceKey }

/** The resource a write means. */
export type WriteTarget = {
  readonly kind: 'target'
  readonly key: ResourceKey
  /** Found by criteria: the version that matched. Another head by now means: search again. */
  readonly matched?: number
  /** Nothing matched the criteria: no other write under the same criteria may come between. */
  readonly guard?: UniquenessGuard
}

export type PreparedWrite = {
  readonly kind: 'change'
  readonly write: Write
  readonly guards: readonly UniquenessGuard[]
  readonly response: FhirResponse
}

/** Goes on at once where there is nothing to wait for. */
export const andThen = <T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** `resolve`: for whatever is to be stored. */
export type ChangePorts = AttemptPorts & { readonly resolve: ReferenceResolver }

/** The two halves of a writing interaction; a transaction runs them for all its entries before it commits once. */
export type WriteInteraction = {
  /** `holder`: the resource that holds the guard of these criteria, when a commit just met it. */
  readonly locate: (ports: AttemptPorts, request: FhirRequest, holder?: ResourceKey) => Awaitable<WriteTarget | ResponseWithoutWrite>
  readonly change: (
    ports: ChangePorts,
    request: FhirRequest,
    target: WriteTarget,
    head: Head | undefined,
  ) => Awaitable<PreparedWrite | ResponseWithoutWrite>
}

/** So many times a write starts over before it answers 409. */
export const MAX_WRITE_ATTEMPTS = 100

export const writeLoop =
  (all: WritePorts, { locate, change }: WriteInteraction): Interaction =>
  async (request) => {
    let holder: ResourceKey | undefined
    for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
      const ports = attemptPortsOf(all)
      const target = await locate(ports, request, holder)
      if (target.kind === 'answer') return target.response
      const [current] = await ports.heads([target.key])
      // guard: write-detects-moved-target
      if (isMatchSuperseded(target, current)) continue
      const head = await authorizeHead(request, current, ports)
      const changed = await change({ ...ports, resolve: referenceResolver(ports, request) }, request, target, head)
      if (changed.kind === 'answer') return changed.response
      const result = await ports.writer.commit([changed.write], changed.guards, request)
      if (result.kind === 'committed') return changed.response
      holder = result.kind === 'guarded' ? result.holder : undefined
    }
    throw tooManyConflicts()
  }

/** The resource that matched has another version by now. IndexAhead: it never had the one that matched. */
export function isMatchSuperseded({ matched }: Pick<WriteTarget, 'matched'>, head: Head | undefined): boolean {
  if (matched === undefined) return false
  if (matched > (head?.versionId ?? 0)) throw new IndexAhead('criteria match a version that the store does not have')
  return head?.versionId !== matched
}

export const tooManyConflicts = (): Error =>
  fhirError(409, 'conflict', 'Other writes to the same resources kept coming first: nothing was written, try again')

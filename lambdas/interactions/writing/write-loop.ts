/**
 * Procedure of a write: locate the resource, read its current version, prepare the next version, commit it if the current version is
 * unchanged. After a conflict the write starts over, so that its decisions always rest on the version that it follows.
 */
import { fhirError } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { CommitResult, ResourceKey, UniquenessGuard, Write } from '../../ports/store/resource-store.ts'
import type { Awaitable, FhirRequest, FhirResponse, Interaction, Ports } from '../interaction.ts'
import type { GuardHolders, Uniqueness } from './conditional-criteria.ts'
import { authorizeHead, type Head } from './head-access.ts'
import { type ReferenceResolver, referenceResolver } from './reference-resolution.ts'

export type WritePorts = Pick<
  Ports,
  'resources' | 'heads' | 'writer' | 'latest' | 'clock' | 'expressions' | 'profiled' | 'progress' | 'choices' | 'identifiersOf'
>

/** Ports of one attempt of a write. `index`: index for its conditional searches. */
export type AttemptPorts = Omit<WritePorts, 'latest'> & { readonly index: Searches }

export const attemptPortsOf = ({ latest, ...ports }: WritePorts): AttemptPorts => ({ ...ports, index: latest() })

/** Response if there is nothing to write. `key`: resource that the response is about. */
export type ResponseWithoutWrite = { readonly kind: 'answer'; readonly response: FhirResponse; readonly key?: ResourceKey }

/** Resource that a write creates or changes. */
export type WriteTarget = {
  readonly kind: 'target'
  readonly key: ResourceKey
  /** Version that matched the criteria. If it has been superseded, the write searches again. */
  readonly matched?: number
  /** Present if nothing matched the criteria. Its guards block concurrent writes that may create the same resource. */
  readonly uniqueness?: Uniqueness
}

export type PreparedWrite = {
  readonly kind: 'change'
  readonly write: Write
  readonly guards: readonly UniquenessGuard[]
  readonly response: FhirResponse
}

/** Applies `next` to the value, synchronously if the value is not a promise. */
export const andThen = <T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Ports of a change. `resolve`: resolves the references of a resource that is to be stored. */
export type ChangePorts = AttemptPorts & { readonly resolve: ReferenceResolver }

/** The two steps of a writing interaction. A transaction runs both for all its entries before its single commit. */
export type WriteInteraction = {
  /** Finds the resource to change. `holders`: resources that blocked earlier attempts; the index may not have them yet. */
  readonly locate: (ports: AttemptPorts, request: FhirRequest, holders?: GuardHolders) => Awaitable<WriteTarget | ResponseWithoutWrite>
  readonly change: (
    ports: ChangePorts,
    request: FhirRequest,
    target: WriteTarget,
    head: Head | undefined,
  ) => Awaitable<PreparedWrite | ResponseWithoutWrite>
}

/** Maximum attempts of a write. Afterwards it is answered 409. */
export const MAX_WRITE_ATTEMPTS = 100

export const writeLoop =
  (all: WritePorts, { locate, change }: WriteInteraction): Interaction =>
  async (request) => {
    const holders = new Map<string, ResourceKey>()
    for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
      const ports = attemptPortsOf(all)
      const target = await locate(ports, request, holders)
      if (target.kind === 'answer') return target.response
      const [current] = await ports.heads([target.key])
      // guard: write-detects-moved-target
      if (isMatchSuperseded(target, current)) continue
      const head = await authorizeHead(request, current, ports)
      const changed = await change({ ...ports, resolve: referenceResolver(ports, request) }, request, target, head)
      if (changed.kind === 'answer') return changed.response
      const result = await ports.writer.commit([changed.write], changed.guards, request)
      if (result.kind === 'committed') return changed.response
      addHolders(holders, changed.guards, result)
    }
    throw tooManyConflicts()
  }

/** Adds the holders of all guards that blocked the commit, so that one more attempt can replace them. */
export function addHolders(holders: Map<string, ResourceKey>, guards: readonly UniquenessGuard[], result: CommitResult): void {
  if (result.kind !== 'guarded') return
  for (const { index, holder } of [result, ...(result.others ?? [])]) holders.set(guards[index]!.guard, holder)
}

/**
 * Whether the matched version has been superseded. Throws the fault `index-ahead` if the store does not have the matched version, because
 * the index is then ahead of the store.
 */
export function isMatchSuperseded({ matched }: Pick<WriteTarget, 'matched'>, head: Head | undefined): boolean {
  if (matched === undefined) return false
  if (matched > (head?.versionId ?? 0)) throw new MachineFault('index-ahead', 'criteria match a version that the store does not have')
  return head?.versionId !== matched
}

export const tooManyConflicts = (): Error =>
  fhirError(409, 'conflict', 'Other writes to the same resources kept coming first: nothing was written, try again')

/** FHIR transaction: all entries succeed or none. https://hl7.org/fhir/R4/http.html#trules */
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { CommitResult, ResourceKey, UniquenessGuard } from '../../ports/store/resource-store.ts'
import type { Awaitable, FhirRequest } from '../interaction.ts'
import { createWrite } from '../rest/create.ts'
import { deleteWrite } from '../rest/delete.ts'
import { patchWrite } from '../rest/patch.ts'
import { updateWrite } from '../rest/update.ts'
import { mapInOrder, mapInSlices } from '../time-slices.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'
import type { GuardHolders } from '../writing/conditional-criteria.ts'
import { authorizeHead, type Head } from '../writing/head-access.ts'
import { checkNewIdentifiers } from '../writing/new-identifiers.ts'
import { referenceResolver } from '../writing/reference-resolution.ts'
import { BrokenReference } from '../writing/referential-integrity.ts'
import { readTransactionHeads } from '../writing/transaction-heads.ts'
import {
  type AttemptPorts,
  addHolders,
  andThen,
  attemptPortsOf,
  isMatchSuperseded,
  MAX_WRITE_ATTEMPTS,
  type PreparedWrite,
  type ResponseWithoutWrite,
  tooManyConflicts,
  type WriteInteraction,
  type WritePorts,
  type WriteTarget,
} from '../writing/write-loop.ts'
import { type EntryRequest, type EntryRunner, entryErrorOf, isRead, phasesOf, runEntryStep } from './entry.ts'
import { type EntryResponses, MAX_BUNDLE_RESPONSE_BYTES } from './entry-responses.ts'
import { BundleFullUrls } from './full-urls.ts'

type PlannedWrite = {
  readonly entry: EntryRequest
  readonly request: FhirRequest
  readonly interaction: WriteInteraction
}
type Located = PlannedWrite & { readonly target: WriteTarget | ResponseWithoutWrite }
type Changed = { readonly entry: EntryRequest; readonly change: PreparedWrite | ResponseWithoutWrite }

const WRITES: Readonly<Record<string, WriteInteraction>> = {
  create: createWrite,
  update: updateWrite,
  patch: patchWrite,
  delete: deleteWrite,
}

export const transaction =
  (ports: WritePorts, perform: EntryRunner) =>
  async (entries: readonly EntryRequest[], request: FhirRequest, answers: EntryResponses): Promise<void> => {
    const reads = entries.filter(isRead)
    const writing = phasesOf(entries)
      .flat()
      .filter((entry) => !isRead(entry))
    const writes = await mapInOrder(writing, (entry) =>
      runEntryStep(entry, async () => plannedWriteOf(entry, await perform.prepare(entry, request, answers.beginning(entry)))),
    )
    await mapInOrder(reads.filter(isOfOthers(writes)), (entry) => runEntryStep(entry, () => succeed(perform, entry, request, answers)))
    for (const { entry, change } of await commit(ports, writes, request)) answers.add(entry, change.response)
    // Reads run after the commit and see its writes. A read that fails now cannot undo them: its error becomes its own response.
    await mapInOrder(reads, (entry) => answers.runAlone(perform, entry))
  }

/**
 * Runs a read before the commit, so that its failure rejects the transaction. Drops the response to save memory: the read runs again after
 * the commit.
 */
async function succeed(perform: EntryRunner, entry: EntryRequest, request: FhirRequest, answers: EntryResponses): Promise<void> {
  await perform.run(entry, request, answers.beginning(entry))
}

function plannedWriteOf(entry: EntryRequest, request: FhirRequest): PlannedWrite {
  const interaction = WRITES[request.interaction]
  if (interaction === undefined)
    throw fhirError(400, 'not-supported', `${entry.method} ${request.interaction} cannot be part of a transaction`)
  return { entry, request, interaction }
}

async function commit(ports: WritePorts, planned: readonly PlannedWrite[], outer: FhirRequest): Promise<readonly Changed[]> {
  const holders = new Map<string, ResourceKey>()
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const changed = await plan(attemptPortsOf(ports), planned, holders, outer)
    if (changed === 'moved on') continue
    const changes = changed.map(({ change }) => change).filter((change) => change.kind === 'change')
    if (changes.length === 0) return changed
    checkNewIdentifiers(
      changes.map(({ write }) => write),
      'Bundle.entry',
    )
    // Entries may share an identifier value of different systems. Any of them may hold its guard.
    const guards = [...new Map(changes.flatMap((change) => change.guards.map((each) => [each.guard, each]))).values()]
    const result = await committed(ports, outer, changes, guards, changed)
    if (result.kind === 'committed') return changed
    addHolders(holders, guards, result)
  }
  throw tooManyConflicts()
}

async function committed(
  { writer }: WritePorts,
  outer: FhirRequest,
  changes: readonly PreparedWrite[],
  guards: readonly UniquenessGuard[],
  changed: readonly Changed[],
): Promise<CommitResult> {
  try {
    return await writer.commit(
      changes.map(({ write }) => write),
      guards,
      outer,
    )
  } catch (thrown) {
    if (!(thrown instanceof BrokenReference)) throw thrown
    throw entryErrorOf(thrown, changed.find(({ change }) => change === changes[thrown.write])!.entry.index)
  }
}

/**
 * Prepares all changes. Reads the current versions after all targets are located. Returns `moved on` if a version that matched a search has
 * been superseded meanwhile: the transaction starts over.
 */
async function plan(
  ports: AttemptPorts,
  planned: readonly PlannedWrite[],
  holders: GuardHolders,
  outer: FhirRequest,
): Promise<readonly Changed[] | 'moved on'> {
  const located = await locate(ports, planned, holders)
  refuseTwice(located)
  const targets = located.flatMap(({ request, target }) => (target.kind === 'target' ? [{ ...target, request }] : []))
  const heads = await readTransactionHeads(ports, targets)
  // guard: transaction-detects-moved-target
  if (targets.some((target, i) => isMatchSuperseded(target, heads[i]))) return 'moved on'
  // A resource may reference the new version of another one. So whether an update changes nothing may depend on whether the other one adds
  // a version. Repeat until the set of unchanged resources is stable.
  let staying: ReadonlySet<EntryRequest> = new Set()
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const urls = new BundleFullUrls(located, heads, staying)
    const made = await changesOf(ports, located, heads, urls, outer)
    const stay = new Set(
      made.flatMap(({ entry, change }, i) => (change.kind === 'answer' && located[i]!.target.kind === 'target' ? [entry] : [])),
    )
    if (!urls.haveNamedVersions || (stay.size === staying.size && stay.isSubsetOf(staying))) return made
    staying = stay
  }
  const choices = { ...ports.choices, noOpUpdates: 'version' as const }
  return changesOf({ ...ports, choices }, located, heads, new BundleFullUrls(located, heads, new Set()), outer)
}

/** Maximum rounds to find the resources that stay unchanged. After them each update adds a version, so that its number is certain. */
const MOST_ROUNDS = 5

/** Prepares the change of every entry. `heads`: current versions of the entries that have a target, in order. */
async function changesOf(
  ports: AttemptPorts,
  located: readonly Located[],
  heads: readonly (Head | undefined)[],
  urls: BundleFullUrls,
  outer: FhirRequest,
): Promise<readonly Changed[]> {
  const resolve = referenceResolver(ports, outer)
  let next = 0
  const changes = await mapInSlices(located, ({ entry, request, interaction, target }) => {
    if (target.kind === 'answer') return target
    const head = heads[next++]
    const meaningOf = urls.meaningIn(entry)
    const changing = {
      ...ports,
      resolve: (resource: Resource) =>
        andThen(resolve(resource, meaningOf), (after) => (interaction === patchWrite ? after : checked(resource, after))),
    }
    return runEntryStep(entry, () =>
      andThen(authorizeHead(request, head, ports), (known) => interaction.change(changing, request, target, known)),
    )
  })
  const made = await allOf(changes)
  return located.map(({ entry }, i) => ({ entry, change: made[i]! }))
}

/**
 * Waits until all values are settled, so that no work continues after an error. If several reject, throws the error of the first in order.
 */
async function allOf<T>(values: readonly Awaitable<T>[]): Promise<readonly T[]> {
  const waiting = values.filter((value) => value instanceof Promise)
  if (waiting.length === 0) return values as readonly T[]
  await Promise.allSettled(waiting)
  return Promise.all(values)
}

/**
 * Locates the targets of all writes, with concurrent searches. Drops bodies of resources that match If-None-Exist beyond the size limit of
 * the response, which could not show them.
 */
async function locate(ports: AttemptPorts, planned: readonly PlannedWrite[], holders: GuardHolders): Promise<readonly Located[]> {
  let held = 0
  const withinRoom = (target: WriteTarget | ResponseWithoutWrite): WriteTarget | ResponseWithoutWrite => {
    if (target.kind === 'target') return target
    const { body, ...response } = target.response
    held += body instanceof Uint8Array ? body.length : 0
    return held > MAX_BUNDLE_RESPONSE_BYTES ? { ...target, response } : target
  }
  const targets = await mapInSlices(planned, ({ entry, request, interaction }) =>
    runEntryStep(entry, () => andThen(interaction.locate(ports, request, holders), withinRoom)),
  )
  const found = await allOf(targets)
  return planned.map((step, i) => ({ ...step, target: found[i]! }))
}

function refuseTwice(located: readonly Located[]): void {
  const seen = new Set<string>()
  for (const { entry, target } of located) {
    const once = (name: string, what: string): void => {
      if (seen.has(name)) throw fhirError(400, 'duplicate', `Two entries of the transaction ${what}`, `Bundle.entry[${entry.index}]`)
      seen.add(name)
    }
    const { key } = target
    if (key !== undefined) once(`${key.type}/${key.id}`, `are about ${key.type}/${key.id}`)
    if (target.kind === 'target' && target.uniqueness !== undefined)
      once(target.uniqueness.criteria, 'have the same criteria, which nothing matches yet')
  }
}

/**
 * Validates the resource again if its references were resolved, because only now the types of their targets are known. A patch validates
 * its own result.
 */
function checked(before: Resource, after: Resource): Awaitable<Resource> {
  if (after === before) return after
  return andThen(structureIssuesOf(after), (issues) => {
    if (issues.length > 0) throw new FhirError(400, issues)
    return after
  })
}

/**
 * Selects all reads except those of resources that the transaction may write. They also run before the commit, so that their failure
 * prevents it.
 */
function isOfOthers(writes: readonly PlannedWrite[]): (read: EntryRequest) => boolean {
  const written = new Set(writes.map(({ request: { type, id, resource } }) => `${type}/${id ?? resource?.id ?? ''}`))
  return ({ url }) => {
    const [, key = '', type = ''] = /^((\w+)\/[^/?]+)/.exec(url) ?? []
    return !written.has(key) && !written.has(`${type}/`)
  }
}

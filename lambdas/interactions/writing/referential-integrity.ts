/**
 * Rejects a write that would leave a reference to a missing resource. The setting `referentialIntegrity` enables it, because FHIR allows
 * such references.
 */
import { parseJsonBytes } from '../../fhir/json.ts'
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import { localReferencesOf } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import type { AccessRules } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { ResourceKey, Write } from '../../ports/store/resource-store.ts'
import { ALL_REFERENCES_FIELD } from '../../search/documents/extract.ts'
import type { RequestWriter } from '../interaction.ts'
import { nameOf } from '../resources/request-key.ts'
import { readInParts } from '../searching/bounded-reads.ts'
import { searchAccessOf } from '../searching/request-search-access.ts'
import type { CallerAccess, VisibleStoreOf } from '../visible-store.ts'

export type IntegrityPorts = {
  readonly writer: RequestWriter
  readonly resources: VisibleStoreOf
  /** Index whose documents contain all references of a resource (`allReferences` of the search context). */
  readonly index: Pick<Searches, 'find'>
}

/**
 * FhirError 422 for a write with a broken reference, or 409 for a deletion that would break one. `write`: index of that write in the
 * commit.
 */
export class BrokenReference extends FhirError {
  readonly write: number

  constructor(status: 409 | 422, write: number, issues: readonly Issue[]) {
    super(status, issues)
    this.write = write
  }
}

/**
 * Returns a writer that checks and runs commits one at a time, so that no write falls between a check and its commit. Throws
 * BrokenReference instead of committing.
 */
export function integrityWriter({ writer, ...ports }: IntegrityPorts): RequestWriter {
  let last: Promise<unknown> = Promise.resolve()
  return {
    commit(writes, guards, by) {
      const checked = async () => {
        await checkReferences(ports, writes, by)
        await checkDeletions(ports, writes, by)
        return writer.commit(writes, guards, by)
      }
      const result = last.then(checked, checked)
      last = result.catch(() => undefined)
      return result
    },
  }
}

type CheckPorts = Omit<IntegrityPorts, 'writer'>

/** Throws BrokenReference 422 if a resource refers to one that is missing, hidden from the caller, or deleted by the same commit. */
async function checkReferences({ resources }: CheckPorts, writes: readonly Write[], by: CallerAccess): Promise<void> {
  const own = new Map(writes.map((write) => [nameOf(write), write.deleted]))
  const asked = writes.flatMap(({ tenant, deleted, body }, write) =>
    deleted
      ? []
      : localReferencesOf(parseJsonBytes(body) as Resource, by.reading).map(({ reference, path }) => ({
          write,
          reference,
          path,
          key: keyOf(tenant, reference),
        })),
  )
  const outside = [...new Map(asked.filter(({ reference }) => !own.has(reference)).map(({ reference, key }) => [reference, key])).values()]
  const missing = new Set<string>()
  for await (const part of readInParts(outside, resources(by, 'r').current))
    for (const [key, head] of part) if (head?.deleted !== false) missing.add(nameOf(key))
  const broken = asked.filter(({ reference }) => own.get(reference) ?? missing.has(reference))
  const [first] = broken
  if (first === undefined) return
  const told = await isTold(resources, writes[first.write]!, by)
  const missed = told ? broken.filter(({ write }) => write === first.write) : []
  const issues = missed.map(({ reference, path }) => ({ ...BROKEN, expression: path, text: `There is no ${reference} to refer to` }))
  throw new BrokenReference(422, first.write, told ? issues : [{ ...BROKEN, text: 'What it refers to is not all there' }])
}

const BROKEN = { severity: 'error', code: 'business-rule' } as const

/** Whether the error may name the references. The caller has not sent them if it patches a resource that is hidden from it. */
const isTold = async (resources: VisibleStoreOf, write: Write, by: CallerAccess): Promise<boolean> =>
  write.expected === 0 || (await resources(by, 'r').current([write]))[0] !== undefined

/** Throws BrokenReference 409 if another resource refers to a deleted one. Names that resource only if the caller may find it. */
async function checkDeletions({ index }: CheckPorts, writes: readonly Write[], by: CallerAccess): Promise<void> {
  const written = new Set(writes.map(nameOf))
  for (const [i, write] of writes.entries()) {
    if (!write.deleted) continue
    const { tenant } = write
    const holderFor = async (access: AccessRules): Promise<string | undefined> => {
      const where = { kind: 'key', field: ALL_REFERENCES_FIELD, oneOf: [nameOf(write)] } as const
      const matching = { tenant, types: resourceTypes, where, access }
      const { hits } = await index.find({ ...matching, order: [], limit: writes.length + 1, total: 'none' })
      return hits.map(nameOf).find((name) => !written.has(name))
    }
    const rules = searchAccessOf({ ...by, tenant }).rules(resourceTypes)
    const seen = await holderFor(rules)
    if (seen === undefined && (rules === 'everything' || (await holderFor('everything')) === undefined)) continue
    const who = seen ?? 'another resource'
    throw new BrokenReference(409, i, [
      { severity: 'error', code: 'conflict', text: `${nameOf(write)} cannot be deleted: ${who} refers to it` },
    ])
  }
}

function keyOf(tenant: string, reference: string): ResourceKey {
  const [type = '', id = ''] = reference.split('/')
  return { tenant, type, id }
}

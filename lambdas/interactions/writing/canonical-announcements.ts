/** Stores a note about each canonical URL before the definition is committed, so that no lookup misses a committed definition. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { type AnnouncedCanonical, type CanonicalNotes, isDefinitionType } from '../../ports/definitions/canonicals.ts'
import type { ResourceReader, ResourceWriter, Write } from '../../ports/store/resource-store.ts'
import { readInParts } from '../searching/bounded-reads.ts'
import { mapInOrder } from '../time-slices.ts'

/** A version to write, or a stored version. */
type Defining = Pick<Write, 'tenant' | 'type' | 'id' | 'deleted' | 'body'>

export type AnnouncingParts = {
  readonly writer: ResourceWriter
  readonly resources: Pick<ResourceReader, 'current'>
  readonly notes: CanonicalNotes
  /** Receives the error if an outdated note could not be removed. It costs each lookup of its URL one more read. */
  readonly report: (error: unknown) => void
}

/**
 * Returns a writer that announces the canonical URLs before each commit. After the commit it removes the notes of URLs that the definitions
 * no longer have, unless they were announced again meanwhile.
 */
export const announcingWriter = ({ writer, resources, notes, report }: AnnouncingParts): ResourceWriter => ({
  async commit(writes, guards) {
    const announced = await announcedCanonicalsOf(writes)
    const noted = await notes.noted(await leftBy(writes, announced, resources))
    if (announced.length > 0) await notes.announce(announced)
    const result = await writer.commit(writes, guards)
    if (result.kind === 'committed' && noted.length > 0) await notes.forget(noted).catch(report)
    return result
  },
})

/** Returns the canonical URLs of the current versions that the new versions do not have. */
async function leftBy(
  writes: readonly Write[],
  announced: readonly AnnouncedCanonical[],
  resources: AnnouncingParts['resources'],
): Promise<readonly AnnouncedCanonical[]> {
  const changed = writes.filter(({ type, expected }) => isDefinitionType(type) && expected > 0)
  if (changed.length === 0) return []
  const kept = new Set(announced.map(nameOf))
  const left: AnnouncedCanonical[] = []
  for await (const part of readInParts(changed, (keys, room) => resources.current(keys, room))) {
    const heads = part.flatMap(([, head]) => head ?? [])
    left.push(...(await announcedCanonicalsOf(heads)).filter((each) => !kept.has(nameOf(each))))
  }
  return left
}

const nameOf = ({ tenant, type, id, url }: AnnouncedCanonical): string => JSON.stringify([tenant, type, id, url])

/** Returns the canonical URLs of the definitions among the writes. */
export async function announcedCanonicalsOf(writes: readonly Defining[]): Promise<readonly AnnouncedCanonical[]> {
  const definitions = writes.filter(({ type, deleted }) => isDefinitionType(type) && !deleted)
  return (await mapInOrder(definitions, announcedIn)).flat()
}

function announcedIn({ tenant, type, id, body }: Defining): readonly AnnouncedCanonical[] {
  const { url } = parseJsonBytes(body) as Resource
  return isDefinitionType(type) && typeof url === 'string' ? [{ tenant, type, id, url }] : []
}

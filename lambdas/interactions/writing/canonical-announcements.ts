/** Before definitions are committed it is told which canonicals they carry: where others look them up, none is missing then. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { type AnnouncedCanonical, type CanonicalNotes, isDefinitionType } from '../../ports/definitions/canonicals.ts'
import type { ResourceReader, ResourceWriter, Write } from '../../ports/store/resource-store.ts'
import { readInParts } from '../searching/bounded-reads.ts'
import { mapInOrder } from '../time-slices.ts'

/** A version that is written, or was. */
type Defining = Pick<Write, 'tenant' | 'type' | 'id' | 'deleted' | 'body'>

export type AnnouncingParts = {
  readonly writer: ResourceWriter
  readonly resources: Pick<ResourceReader, 'current'>
  readonly notes: CanonicalNotes
  /** Told why something stays noted that is carried no more: it costs a read a look-up, and nothing else. */
  readonly report: (error: unknown) => void
}

/** And what they carry no more is forgotten once they are committed, unless it was announced again since they were read. */
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

/** What the versions before them carry, and they do not. */
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

/** The canonicals that the definitions among them carry. */
export async function announcedCanonicalsOf(writes: readonly Defining[]): Promise<readonly AnnouncedCanonical[]> {
  const definitions = writes.filter(({ type, deleted }) => isDefinitionType(type) && !deleted)
  return (await mapInOrder(definitions, announcedIn)).flat()
}

function announcedIn({ tenant, type, id, body }: Defining): readonly AnnouncedCanonical[] {
  const { url } = parseJsonBytes(body) as Resource
  return isDefinitionType(type) && typeof url === 'string' ? [{ tenant, type, id, url }] : []
}

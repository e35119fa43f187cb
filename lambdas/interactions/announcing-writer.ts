/** Before definitions are committed it is told which canonicals they carry: where others look them up, none is missing then. */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import { type AnnouncedCanonical, isDefinitionType } from '../ports/canonicals.ts'
import type { ResourceWriter, Write } from '../ports/resource-store.ts'
import { inTurn } from './slices.ts'

/** A version that is written, or was. */
type Defining = Pick<Write, 'tenant' | 'type' | 'id' | 'deleted' | 'body'>

type Announce = (announced: readonly AnnouncedCanonical[]) => Promise<void>

export const announcingWriter = (writer: ResourceWriter, announce: Announce): ResourceWriter => ({
  async commit(writes, guards) {
    const announced = await announcedBy(writes)
    if (announced.length > 0) await announce(announced)
    return writer.commit(writes, guards)
  },
})

/** The canonicals that the definitions among them carry. */
export async function announcedBy(writes: readonly Defining[]): Promise<readonly AnnouncedCanonical[]> {
  const definitions = writes.filter(({ type, deleted }) => isDefinitionType(type) && !deleted)
  return (await inTurn(definitions, announcedIn)).flat()
}

function announcedIn({ tenant, type, id, body }: Defining): readonly AnnouncedCanonical[] {
  const { url } = parseJsonBytes(body) as Resource
  return isDefinitionType(type) && typeof url === 'string' ? [{ tenant, type, id, url }] : []
}

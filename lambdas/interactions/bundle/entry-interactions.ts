/** The interactions an entry of a Bundle may be. https://hl7.org/fhir/R4/http.html#transaction */
import { capabilities } from './capabilities.ts'
import { create } from './create.ts'
import { deleteResource } from './delete.ts'
import { history } from './history.ts'
import type { Interaction, Ports } from './interaction.ts'
import { patch } from './patch.ts'
import { read } from './read.ts'
import type { InteractionCode } from './routes.ts'
import { search } from './search.ts'
import { update } from './update.ts'
import { vread } from './vread.ts'

export function entryInteractions(ports: Omit<Ports, 'reindex'>): Partial<Record<InteractionCode, Interaction>> {
  const histories = history(ports)
  const searches = search(ports)
  return {
    read: read(ports),
    vread: vread(ports),
    create: create(ports),
    update: update(ports),
    patch: patch(ports),
    delete: deleteResource(ports),
    'history-instance': histories,
    'history-type': histories,
    'history-system': histories,
    'search-type': searches,
    'search-system': searches,
    capabilities: capabilities(ports),
  }
}

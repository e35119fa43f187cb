/** Interactions that an entry of a Bundle may request. https://hl7.org/fhir/R4/http.html#transaction */
import type { InteractionCode } from '../../catalogue/catalogue.ts'
import { capabilities } from '../capabilities/capabilities.ts'
import type { Interaction, Ports } from '../interaction.ts'
import { create } from '../rest/create.ts'
import { deleteResource } from '../rest/delete.ts'
import { history } from '../rest/history.ts'
import { patch } from '../rest/patch.ts'
import { read } from '../rest/read.ts'
import { search } from '../rest/search.ts'
import { update } from '../rest/update.ts'
import { vread } from '../rest/vread.ts'

export function entryInteractions(ports: Omit<Ports, 'reindex'>) {
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
  } satisfies Readonly<Partial<Record<InteractionCode, Interaction>>>
}

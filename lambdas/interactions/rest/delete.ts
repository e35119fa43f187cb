/** FHIR delete and conditional delete. https://hl7.org/fhir/R4/http.html#delete */
import type { Interaction } from '../interaction.ts'
import { keyOf, typeOf } from '../resources/request-key.ts'
import { criteriaOf, matchesOf, tooManyMatches } from '../writing/conditional-criteria.ts'
import { checkIfMatch, remove } from '../writing/next-version.ts'
import { type Answer, type WriteInteraction, type WritePorts, writing } from '../writing/write-loop.ts'

export const deletion: WriteInteraction = {
  async locate(ports, request) {
    if (request.id !== undefined) return { kind: 'target', key: keyOf(request) }
    const [match, second] = await matchesOf(ports, criteriaOf(request, typeOf(request), request.parameters))
    if (second !== undefined) throw tooManyMatches()
    if (match === undefined) return NOTHING_TO_DELETE
    const { versionId, ...key } = match
    return { kind: 'target', key, matched: versionId }
  },
  change({ clock }, request, { key }, head) {
    checkIfMatch(request, head)
    return head === undefined || head.deleted ? NOTHING_TO_DELETE : remove(clock, key, head, request.reading)
  },
}

export const deleteResource = (ports: WritePorts): Interaction => writing(ports, deletion)

const NOTHING_TO_DELETE: Answer = { kind: 'answer', response: { status: 204 } }

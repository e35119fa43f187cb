/** FHIR delete and conditional delete. https://hl7.org/fhir/R4/http.html#delete */
import type { Interaction } from '../interaction.ts'
import { keyOf, typeOf } from '../resources/request-key.ts'
import { criteriaOf, matchesOf, tooManyMatches } from '../writing/conditional-criteria.ts'
import { checkIfMatch, prepareDeletion } from '../writing/next-version.ts'
import { type ResponseWithoutWrite, type WriteInteraction, type WritePorts, writeLoop } from '../writing/write-loop.ts'

export const deleteWrite: WriteInteraction = {
  async locate(ports, request) {
    if (request.id !== undefined) return { kind: 'target', key: keyOf(request) }
    const [match, second] = await matchesOf(ports, criteriaOf(request, typeOf(request), request.parameters))
    if (second !== undefined) throw tooManyMatches()
    if (match === undefined) return NOTHING_TO_DELETE
    const { versionId, ...key } = match
    return { kind: 'target', key, matched: versionId }
  },
  change({ clock }, request, { key }, head) {
    checkIfMatch(request, key, head)
    return head === undefined || head.deleted ? NOTHING_TO_DELETE : prepareDeletion(clock, key, head, request.reading)
  },
}

export const deleteResource = (ports: WritePorts): Interaction => writeLoop(ports, deleteWrite)

const NOTHING_TO_DELETE: ResponseWithoutWrite = { kind: 'answer', response: { status: 204 } }

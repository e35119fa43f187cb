/** Operations for operators about the search index: its status, and a rebuild on demand. */
import { fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isResourceType, resourceTypes } from '../../fhir/resource-types.ts'
import { MAX_STREAM_PARTITIONS } from '../../ports/search/heartbeat.ts'
import type { IndexStatus } from '../../ports/search/index-status.ts'
import type { FhirRequest, Interaction, Ports } from '../interaction.ts'

/** `GET [base]/$reindex-status`: returns the index lag, the custom parameters, the types that are rebuilt, and the unindexable versions. */
export const reindexStatus =
  ({ progress }: Pick<Ports, 'progress'>): Interaction =>
  async ({ tenant }) => ({ status: 200, body: statusOf(await progress.status(tenant)) })

/**
 * `POST [base]/$reindex?type=Patient,Observation`: starts a rebuild of the index documents of these types, or of all types without `type`.
 * Returns 202 before the rebuild ends.
 */
export const startReindex =
  ({ reindex }: Pick<Ports, 'reindex'>): Interaction =>
  async (request) => {
    const types = typesOf(request)
    await reindex.start(request.tenant, types.length === 0 ? resourceTypes : types)
    return { status: 202, headers: { 'content-location': `${request.baseUrl}/$reindex-status` } }
  }

function typesOf({ parameters }: FhirRequest): readonly string[] {
  const types = parameters.flatMap(([name, value]) => (name === 'type' || name === '_type' ? value.split(',') : []))
  const unknown = types.find((type) => !isResourceType(type))
  if (unknown !== undefined) throw fhirError(400, 'value', `${unknown.slice(0, 50)} is not a resource type`)
  return types
}

const UNCOVERED = `The change stream of the table has more than ${MAX_STREAM_PARTITIONS} partitions, or the server could not count them for an hour. So no heartbeat is known to reach all of them. Conditional interactions that search are answered 503.`

function statusOf({ lag, definitions, rebuilds, unreadable, uncovered, hours }: IndexStatus): Resource {
  const parameter = [
    ...(lag === undefined ? [] : [{ name: 'lag', valueInteger: lag }]),
    ...(uncovered === undefined ? [] : [{ name: 'warning', valueString: UNCOVERED }]),
    ...definitions.map(({ id, base, code, state }) => ({
      name: 'parameter',
      part: [
        // A parameter of a package has a canonical URL in place of an id.
        { name: 'resource', valueReference: { reference: id.includes(':') ? id : `SearchParameter/${id}` } },
        { name: 'base', valueCode: base },
        { name: 'code', valueCode: code },
        { name: 'state', valueCode: state },
      ],
    })),
    ...(hours === undefined ? [] : [{ name: 'hours', valueInteger: hours }]),
    ...rebuilds.map(({ type, done, total, isSearched = true }) => ({
      name: 'rebuild',
      part: [
        { name: 'type', valueCode: type },
        { name: 'done', valueInteger: done },
        ...(total < 0 ? [] : [{ name: 'total', valueInteger: total }]),
        ...(isSearched ? [] : [{ name: 'searched', valueBoolean: false }]),
      ],
    })),
    ...unreadable.map(({ type, id, versionId, reason }) => ({
      name: 'unreadable',
      part: [
        { name: 'resource', valueReference: { reference: `${type}/${id}/_history/${versionId}` } },
        { name: 'reason', valueString: reason },
      ],
    })),
  ]
  return { resourceType: 'Parameters', parameter }
}

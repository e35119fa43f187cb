/** Assertions of Inferno's Bulk Data kit, STU2. https://github.com/inferno-framework/bulk-data-test-kit, lib/bulk_data_test_kit/v2.0.0 */
import { expect } from '@jest/globals'
import { structureIssuesOf } from '../../../lambdas/interactions/validation/structure-findings.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { expectAccepted, expectEntry, expectOutcome, expectStarted, withExport, withLevelExport } from './assertions.ts'
import { EXPORT_PATHS, type ExportLevel, type KitRow, SERVER_URL, type Site } from './site.ts'

const levels = Object.keys(EXPORT_PATHS) as ExportLevel[]
const GUIDE = 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition'

const operationsOf = async (site: Site, level: ExportLevel): Promise<readonly Tree[]> => {
  const [rest] = (await site.send('GET', 'metadata')).body.rest
  const type = { system: undefined, patient: 'Patient', group: 'Group' }[level]
  return (type === undefined ? rest : rest.resource.find((each: Tree) => each.type === type)).operation
}

/** Expects each line to have the type of its file and to be valid R4. */
async function conforming(site: Site, manifest: Tree): Promise<void> {
  for (const { type, url, count } of manifest.output) {
    const lines = await site.lines({ output: [{ type, url }] })
    expect([lines.length, new Set(lines.map(({ resourceType }) => resourceType))]).toEqual([count, new Set([type])])
    for (const line of lines) expect([line.id, await structureIssuesOf(line)]).toEqual([line.id, []])
  }
}

const rowsOf = (level: ExportLevel): readonly KitRow[] => {
  const kit = (test: string) => `inferno/${level}: ${test}`
  return [
    [
      kit('bulk_data_export_operation_support'),
      'an operation named export with the definition of the guide',
      async (site) => {
        const definition = `${GUIDE}/${level === 'system' ? 'export' : `${level}-export`}`
        expect(await operationsOf(site, level)).toContainEqual({ name: 'export', definition })
      },
    ],
    [
      kit('bulk_data_no_auth_reject'),
      'without a token',
      async (site) => expectOutcome(await site.kickOff(level, {}, { headers: { authorization: undefined } }), 400, 401),
    ],
    [kit('bulk_data_kick_off'), '202 and a Content-Location', (site) => expectAccepted(site, level)],
    [
      kit('bulk_data_status_check'),
      '200 with JSON that has all its fields',
      (site) =>
        withLevelExport(site, level, async (manifest) =>
          expect(Object.keys(manifest)).toEqual(
            expect.arrayContaining(['transactionTime', 'request', 'requiresAccessToken', 'output', 'error']),
          ),
        ),
    ],
    [
      kit('bulk_data_output_check'),
      'each file has a type and an absolute url',
      (site) =>
        withLevelExport(site, level, async ({ output }) => {
          expect(output.length).toBeGreaterThan(0)
          for (const item of output) expectEntry(item)
        }),
    ],
    [
      kit('bulk_data_cancel'),
      '202; then 404 with an OperationOutcome',
      async (site) => {
        const kickOff = await site.kickOff(level)
        expectStarted(kickOff)
        expect((await site.cancel(kickOff)).status).toBe(202)
        expectOutcome(await site.finished(kickOff), 404)
      },
    ],
    ...['application/fhir+ndjson', 'application/ndjson', 'ndjson'].map(
      (_outputFormat): KitRow => [
        kit('output_format_in_export_response'),
        _outputFormat,
        (site) => expectAccepted(site, level, { _outputFormat }),
      ],
    ),
    [kit('since_in_export_response'), 'an instant', (site) => expectAccepted(site, level, { _since: '2021-10-26T11:00:00-00:00' })],
    [
      kit('bulk_data_valid_resources'),
      'each line is of the type of its file, and R4',
      (site) => withLevelExport(site, level, (manifest) => conforming(site, manifest)),
    ],
    [
      kit('bulk_data_multiple_patients'),
      'at least two patients',
      (site) =>
        withLevelExport(site, level, async (manifest) =>
          expect((await site.lines(manifest, 'Patient')).map(({ id }) => id).toSorted()).toEqual(['1', '2']),
        ),
    ],
  ]
}

/** Requirements that a person attests in Inferno, tested against the server here. */
const ATTESTED: readonly KitRow[] = [
  [
    'inferno/bulk_data_kickoff_error_response',
    'an OperationOutcome in JSON',
    async (site) => expectOutcome(await site.kickOff('system', { _type: 'Nothing' }), 400),
  ],
  [
    'inferno/bulk_data_request_url',
    'the URL of the kick-off, as it was sent',
    (site) =>
      withExport(site, 'patient', { _type: 'Patient,Observation' }, {}, async ({ request }) =>
        expect(request).toBe(`${SERVER_URL}/Patient/$export?_type=Patient%2CObservation`),
      ),
  ],
  [
    'inferno/bulk_data_transaction_time',
    'nothing is exported that was modified later',
    (site) =>
      withLevelExport(site, 'system', async (manifest) => {
        const lines = await site.lines(manifest)
        expect(lines.length).toBeGreaterThan(10)
        expect(lines.filter(({ meta }) => Date.parse(meta.lastUpdated) > Date.parse(manifest.transactionTime))).toEqual([])
      }),
  ],
  [
    'inferno/since_parameter',
    'what was modified since then, and nothing else',
    (site) =>
      withExport(site, 'system', { _type: 'Organization' }, {}, async ({ transactionTime: _since }) => {
        const body = { resourceType: 'Organization', id: 'new', name: 'New' }
        const token = await site.tokenFor('system/*.cruds')
        await site.send('PUT', 'Organization/new', { headers: { 'content-type': 'application/fhir+json' }, body }, token)
        await withExport(site, 'system', { _since }, {}, async (manifest) => {
          const lines = await site.lines(manifest)
          expect(lines.map(({ resourceType, id }) => `${resourceType}/${id}`)).toEqual(['Organization/new'])
        })
      }),
  ],
  [
    'inferno/bulk_data_deleted_section',
    'what was deleted since then, as transactions of DELETE',
    async (site) => {
      const token = await site.tokenFor('system/*.cruds')
      const body = { resourceType: 'Location', id: 'passing' }
      await site.send('PUT', 'Location/passing', { headers: { 'content-type': 'application/fhir+json' }, body }, token)
      await withExport(site, 'system', { _type: 'Location' }, {}, async ({ transactionTime: _since }) => {
        await site.send('DELETE', 'Location/passing', {}, token)
        await withExport(site, 'system', { _type: 'Location', _since }, {}, async ({ output, deleted }) => {
          for (const item of deleted) expectEntry(item, 'Bundle')
          const bundles = await site.lines({ output: deleted })
          expect([output, bundles.map(({ type }) => type)]).toEqual([[], ['transaction']])
          expect(bundles.flatMap(({ entry }) => entry.map(({ request }: Tree) => request))).toEqual([
            { method: 'DELETE', url: 'Location/passing' },
          ])
        })
      })
    },
  ],
  [
    'inferno/type_parameter',
    'only those types',
    (site) =>
      withExport(site, 'system', { _type: 'Goal,Device' }, {}, async ({ output }) =>
        expect(output.map(({ type }: Tree) => type).toSorted()).toEqual(['Device', 'Goal']),
      ),
  ],
  [
    'inferno/type_filter_parameter',
    'those that match one of its searches',
    (site) =>
      withExport(site, 'system', { _type: 'Patient', _typeFilter: 'Patient?gender=female' }, {}, async (manifest) =>
        expect((await site.lines(manifest)).map(({ id }) => id)).toEqual(['1']),
      ),
  ],
  [
    'inferno/bulk_data_most_recent_version',
    'each resource once, as it is now',
    (site) =>
      withExport(site, 'system', { _type: 'Patient,Observation,Condition' }, {}, async (manifest) => {
        const lines = await site.lines(manifest)
        const token = await site.tokenFor('system/*.rs')
        for (const line of lines.slice(0, 5))
          expect((await site.send('GET', `${line.resourceType}/${line.id}`, {}, token)).body).toEqual(line)
        expect(new Set(lines.map(({ resourceType, id }) => `${resourceType}/${id}`)).size).toBe(lines.length)
      }),
  ],
  [
    'inferno/bulk_data_access_token_scope_enforcement',
    'a token for some types exports no others',
    async (site) => {
      const authorization = `Bearer ${await site.tokenFor('system/Observation.rs')}`
      const kickOff = await site.kickOff('system', {}, { headers: { authorization } })
      expectStarted(kickOff)
      const { body } = await site.finished(kickOff)
      await site.cancel(kickOff)
      expect(body.output.map(({ type }: Tree) => type)).toEqual(['Observation'])
    },
  ],
  [
    'inferno/bulk_data_output_file_error',
    'a file that cannot be had is a 4xx',
    (site) =>
      withExport(site, 'system', { _type: 'Patient' }, {}, async ({ output }) =>
        expectOutcome(await site.send('GET', output[0].url.replace('signature=', 'signature=x')), 403),
      ),
  ],
]

export const INFERNO: readonly KitRow[] = [...levels.flatMap(rowsOf), ...ATTESTED]

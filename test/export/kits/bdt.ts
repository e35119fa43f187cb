/** Assertions of SMART's Bulk Data Tester. https://github.com/smart-on-fhir/bdt, src/testSuite */
import { expect } from '@jest/globals'
import type { Tree } from '../../fixtures/resources.ts'
import {
  expectAccepted,
  expectEntry,
  expectOutcome,
  expectRejected,
  expectStarted,
  LENIENT_HANDLING,
  parametersContent,
  textParameter,
  withExport,
} from './assertions.ts'
import { EXPORT_PATHS, type ExportLevel, type KitRow, type RequestContent, SERVER_URL } from './site.ts'

const levels = Object.keys(EXPORT_PATHS) as ExportLevel[]
const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }
const FUTURE = '2057-01-01T00:00:00+05:00'
const NO_DATE = '0000-60-01T30:70:80+05:00'
const FILTER = 'Patient?status=active'

/** Returns the requests with a parameter by GET and by POST. */
const bothWays = (
  name: string,
  value: string,
): readonly (readonly [method: string, query: Record<string, string>, asked: RequestContent])[] => [
  ['GET', { [name]: value }, {}],
  ['POST', {}, parametersContent(name === '_since' ? { name, valueInstant: value } : textParameter(name, value))],
]

const rowsOf = (level: ExportLevel): readonly KitRow[] => {
  const kit = (test: string) => `bdt/${level}: ${test}`
  const both = (test: string, holds: string, name: string, value: string, check: typeof expectRejected): readonly KitRow[] =>
    bothWays(name, value).map(
      ([method, query, content]): KitRow => [kit(test), `${holds}, by ${method}`, (site) => check(site, level, query, content)],
    )
  return [
    ...(['accept', 'prefer'] as const).flatMap((header): readonly KitRow[] => [
      [
        kit(`Requires ${header}`),
        'by GET',
        (site) => expectRejected(site, level, {}, { headers: { [header]: header === 'accept' ? '' : undefined } }),
      ],
      [
        kit(`Requires ${header}`),
        'by POST',
        (site) => expectRejected(site, level, {}, { ...parametersContent(), headers: { [header]: header === 'accept' ? '' : undefined } }),
      ],
    ]),
    [kit('Allows handling=lenient'), 'beside respond-async', (site) => expectAccepted(site, level, { _type: 'Patient' }, LENIENT_HANDLING)],
    ...['application/fhir+ndjson', 'application/ndjson', 'ndjson'].flatMap((format) =>
      both('Accepts _outputFormat', format, '_outputFormat', format, expectAccepted),
    ),
    ...['application/xml', 'text/html', 'x-custom'].flatMap((format) =>
      both('Rejects unsupported format', format, '_outputFormat', format, expectRejected),
    ),
    ...both('Rejects _since', 'that is no date', '_since', NO_DATE, expectRejected),
    ...both('Rejects _since', 'in the future', '_since', FUTURE, expectRejected),
    ...both('Validates _type', 'a type that is none', '_type', 'MissingType', expectRejected),
    [kit('Accepts multiple _type parameters'), 'by GET', (site) => expectAccepted(site, level, { _type: ['Patient', 'Observation'] })],
    [
      kit('Accepts includeAssociatedData'),
      'says that it does not, and goes on without it leniently',
      async (site) => {
        await expectRejected(site, level, { includeAssociatedData: 'LatestProvenanceResources' })
        await expectAccepted(site, level, { includeAssociatedData: 'LatestProvenanceResources' }, LENIENT_HANDLING)
      },
    ],
    ...[FILTER, [FILTER, 'Patient?gender=male']].map(
      (filter): KitRow => [
        kit('Handles _typeFilter'),
        `${filter}: one it cannot use is refused, or told leniently`,
        async (site) => {
          await expectRejected(site, level, { _typeFilter: filter })
          await expectAccepted(site, level, { _typeFilter: filter }, LENIENT_HANDLING)
        },
      ],
    ),
    ...both('Handles _typeFilter', 'one it can use', '_typeFilter', 'Patient?gender=male', expectAccepted),
    ...bothWays('_elements', 'id,Patient.meta').map(
      ([method, query, content]): KitRow => [
        kit('Accepts _elements'),
        `each line has them, and says that it is not all, by ${method}`,
        (site) => {
          const more =
            content.body === undefined ? content : parametersContent(...(content.body as Tree).parameter, textParameter('_type', 'Patient'))
          const type = content.body === undefined ? { _type: 'Patient' } : {}
          return withExport(site, level, { ...query, ...type }, more, async (manifest) => subsetted(await site.lines(manifest)))
        },
      ],
    ),
    [
      kit('Accepts multiple _elements parameters'),
      'each line has them',
      (site) =>
        withExport(site, level, { _elements: ['id', 'Patient.meta'], _type: 'Patient' }, {}, async (manifest) =>
          subsetted(await site.lines(manifest)),
        ),
    ],
    [kit('Can start an export'), 'by GET', (site) => expectAccepted(site, level)],
    [kit('Can start an export'), 'by POST', (site) => expectAccepted(site, level, {}, parametersContent())],
    [
      kit('Requires authorization header'),
      'who sends none is refused',
      async (site) => expectOutcome(await site.kickOff(level, {}, { headers: { authorization: undefined } }), 401, 406),
    ],
    [
      kit('Rejects invalid token'),
      'whatever it is',
      async (site) => expectOutcome(await site.kickOff(level, {}, { headers: { authorization: 'Bearer invalidToken' } }), 401, 406),
    ],
  ]
}

function subsetted(lines: readonly Tree[]): void {
  expect(lines.length).toBeGreaterThan(0)
  for (const { id, meta } of lines)
    expect([typeof id, meta.tag]).toEqual(['string', expect.arrayContaining([expect.objectContaining(SUBSETTED)])])
}

const patients = (...ids: readonly string[]) =>
  parametersContent(...ids.map((id) => ({ name: 'patient', valueReference: { reference: `Patient/${id}` } })))

const PATIENTS: readonly KitRow[] = [
  ...(['patient', 'group'] as const).flatMap((level): readonly KitRow[] => [
    [
      `bdt/${level}: Supports the patient parameter`,
      'only that patient is exported',
      (site) =>
        withExport(site, level, { _type: 'Patient' }, patients('2'), async (manifest) =>
          expect((await site.lines(manifest)).map(({ id }) => id)).toEqual(['2']),
        ),
    ],
    [
      `bdt/${level}: Can start an export with patient parameter`,
      'of whoever it is',
      (site) => expectAccepted(site, level, {}, patients('123', '456')),
    ],
  ]),
  [
    'bdt/system: Rejects the patient parameter',
    'as it is of all there is',
    (site) => expectRejected(site, 'system', {}, patients('123', '456')),
  ],
]

const STATUS: readonly KitRow[] = [
  [
    'bdt/Responds with 202 for active exports',
    'with a progress that is short and a time to wait, until it is complete',
    async (site) => {
      const kickOff = await site.kickOff('system')
      const poll = await site.finished({ ...kickOff, headers: kickOff.headers })
      expect(poll.status).toBe(200)
      const again = await site.kickOff('system', { _type: 'Patient' })
      const first = await site.send('GET', again.headers.get('content-location') ?? '', {}, await site.tokenFor('system/*.rs'))
      await site.cancel(kickOff)
      await site.cancel(again)
      expect([200, 202]).toContain(first.status)
      expect(first.headers.has('content-location')).toBe(false)
      if (first.status === 202) {
        expect(first.headers.get('x-progress')!.length).toBeLessThan(100)
        expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0)
      }
    },
  ],
  [
    'bdt/Generates valid status response',
    'what was asked, when, and files with links and counts',
    (site) =>
      withExport(site, 'system', { _type: 'Patient' }, {}, async ({ transactionTime, request, requiresAccessToken, output, error }) => {
        expect(transactionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/)
        expect([request, requiresAccessToken]).toEqual([`${SERVER_URL}/$export?_type=Patient`, false])
        expect(output.length).toBeGreaterThan(0)
        for (const item of output) expectEntry(item, 'Patient')
        expect(error).toEqual([])
      }),
  ],
  [
    'bdt/Generates valid status response',
    'expires when it says, after now',
    async (site) => {
      const kickOff = await site.kickOff('system', { _type: 'Patient' })
      const { headers } = await site.finished(kickOff)
      await site.cancel(kickOff)
      expect(Date.parse(headers.get('expires')!)).toBeGreaterThan(Date.parse(headers.get('date')!))
    },
  ],
  [
    'bdt/Exports can be canceled',
    'and are found no more',
    async (site) => {
      const kickOff = await site.kickOff('system')
      expectStarted(kickOff)
      const first = await site.cancel(kickOff)
      expect([first.status, first.text]).toEqual([202, ''])
      expectOutcome(await site.cancel(kickOff), 404)
    },
  ],
  [
    'bdt/Includes lenient errors in the payload errors array',
    'what was not understood is named there',
    (site) =>
      withExport(
        site,
        'system',
        { includeAssociatedData: 'LatestProvenanceResources', _type: 'Patient' },
        LENIENT_HANDLING,
        async ({ error }) => {
          expect(error.length).toBeGreaterThan(0)
          for (const item of error) expectEntry(item, 'OperationOutcome')
          const lines = await site.lines({ output: error })
          expect(lines.map(({ resourceType }) => resourceType)).toEqual(lines.map(() => 'OperationOutcome'))
          expect(JSON.stringify(lines)).toContain('includeAssociatedData')
        },
      ),
  ],
]

const DOWNLOAD: readonly KitRow[] = [
  [
    'bdt/Does not require access token if the requiresAccessToken field in the status body is not true',
    'a file is read without one',
    (site) =>
      withExport(site, 'system', { _type: 'Patient' }, {}, async ({ requiresAccessToken, output }) => {
        expect(requiresAccessToken).toBe(false)
        expect((await site.send('GET', output[0].url)).status).toBe(200)
      }),
  ],
  [
    'bdt/Generates valid file response',
    'NDJSON, each line JSON',
    (site) =>
      withExport(site, 'system', { _type: 'Patient' }, {}, async (manifest) => {
        const { headers } = await site.send('GET', manifest.output[0].url)
        expect(headers.get('content-type')).toBe('application/fhir+ndjson')
        expect((await site.lines(manifest)).map(({ id }) => id).toSorted()).toEqual(['1', '2'])
      }),
  ],
  [
    'bdt/Supports binary file attachments in DocumentReference resources',
    'data, or an absolute url that can be downloaded',
    (site) =>
      withExport(site, 'system', { _type: 'DocumentReference' }, {}, async (manifest) => {
        const attachments = (await site.lines(manifest)).flatMap(({ content }) => content.map(({ attachment }: Tree) => attachment))
        expect(attachments.filter(({ data, url }: Tree) => (data === undefined) === (url === undefined))).toEqual([])
        const [{ url }] = attachments.filter(({ url }: Tree) => url !== undefined)
        expect(url).toBe(`${SERVER_URL}/Binary/scan`)
        expect((await site.send('GET', url, {}, await site.tokenFor('system/Binary.rs'))).status).toBe(200)
        expectOutcome(await site.send('GET', url), 401)
      }),
  ],
  [
    'bdt/Requesting deleted files returns 404 responses',
    'once the export was deleted',
    async (site) => {
      const kickOff = await site.kickOff('system', { _type: 'Patient' })
      const { body } = await site.finished(kickOff)
      expect((await site.send('GET', body.output[0].url)).status).toBe(200)
      await site.cancel(kickOff)
      expectOutcome(await site.send('GET', body.output[0].url), 404)
    },
  ],
]

const names = (operation: readonly Tree[] = []): readonly string[] => operation.map(({ name }) => name)

const METADATA: readonly KitRow[] = [
  [
    'bdt/The CapabilityStatement instantiates the bulk-data CapabilityStatement',
    'by its canonical URL',
    async (site) =>
      expect((await site.send('GET', 'metadata')).body.instantiates).toContain(
        'http://hl7.org/fhir/uv/bulkdata/CapabilityStatement/bulk-data',
      ),
  ],
  [
    'bdt/Includes the token endpoint in the CapabilityStatement',
    'in the extension oauth-uris',
    async (site) => {
      const { security } = (await site.send('GET', 'metadata')).body.rest[0]
      const uris = security.extension.find(({ url }: Tree) => url.endsWith('/oauth-uris')).extension
      expect(uris).toContainEqual({ url: 'token', valueUri: `${SERVER_URL}/auth/token` })
    },
  ],
  [
    'bdt/Check if the operations are defined in the CapabilityStatement',
    'each by the name BDT calls it',
    async (site) => {
      const { operation, resource } = (await site.send('GET', 'metadata')).body.rest[0]
      const operationsOf = (type: string) => names(resource.find((each: Tree) => each.type === type).operation)
      expect([names(operation), operationsOf('Patient'), operationsOf('Group')]).toEqual([
        expect.arrayContaining(['export']),
        expect.arrayContaining(['patient-export']),
        expect.arrayContaining(['group-export']),
      ])
    },
  ],
]

export const BDT: readonly KitRow[] = [...levels.flatMap(rowsOf), ...PATIENTS, ...STATUS, ...DOWNLOAD, ...METADATA]

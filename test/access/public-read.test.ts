/** Requests without a token for a directory that the setting publicRead opens. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { checkPublicRead } from '../../lambdas/runtime/public-read.ts'
import type { Tree } from '../api/server.ts'
import { auditRecordsOf } from '../api/settings-tried/access.ts'
import { openPublicDirectory, type PublicDirectory } from './public-directory.ts'

let directory: PublicDirectory

beforeAll(async () => {
  directory = await openPublicDirectory()
})
afterAll(() => directory.close())

const idsOf = (body: Tree): readonly string[] => (body.entry ?? []).map(({ resource }: Tree) => resource.id).toSorted()
const get = (path: string, headers?: Record<string, string>) => directory.anybody.get(path, headers)

describe('a request without a token', () => {
  it('reads and searches the configured types by GET, HEAD and POST', async () => {
    expect(await get('/Location/a')).toMatchObject({ status: 200, body: { id: 'a' } })
    expect((await directory.anybody.raw('/Location/a', { method: 'HEAD' })).status).toBe(200)
    expect(idsOf((await get('/Location')).body)).toEqual(['a', 'b'])
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'name=North' }
    expect(idsOf((await (await directory.anybody.raw('/Location/_search', form)).json()) as Tree)).toEqual(['a'])
  })

  it.each(['/Patient', '/Patient/p', '/PractitionerRole', '/Practitioner', '/Nothing/x', '/Patient/p/Location'])(
    'is 401 for another type: %s',
    async (path) => expect(await get(path)).toMatchObject({ status: 401, body: { issue: [{ code: 'login' }, {}] } }),
  )

  it('hides the resources that do not meet the condition of the scope', async () => {
    expect(idsOf((await get('/Organization')).body)).toEqual(['clinic'])
    const [hidden, missing] = [await get('/Organization/employer'), await get('/Organization/nowhere')]
    expect([hidden.status, missing.status]).toEqual([404, 404])
    expect(hidden.text.replaceAll('employer', 'nowhere')).toBe(missing.text)
  })

  it('does not reach hidden resources by includes, chains and _has', async () => {
    expect(idsOf((await get('/Location?_include=Location:organization')).body)).toEqual(['a', 'b', 'clinic'])
    expect(idsOf((await get('/Location?organization.name=Employer')).body)).toEqual([])
    expect(idsOf((await get('/Location?organization.name=Clinic')).body)).toEqual(['a'])
    expect(idsOf((await get('/Organization?_has:Location:organization:name=South')).body)).toEqual([])
  })

  it.each(['/Location?_revinclude=PractitionerRole:location', '/Location?_has:PractitionerRole:location:active=true'])(
    'is 403 if it searches through a type that is not public: %s',
    async (path) => expect((await get(path)).status).toBe(403),
  )

  it.each([
    [{ authorization: 'Bearer garbage' }],
    [{ authorization: '' }],
    [{ prefer: 'explain=true' }],
    [{ 'x-consistency': 'eventual' }],
    [{ 'x-index-token': 'x' }],
    [{ 'x-tenant-id': 'other' }],
  ])('is 401 with %j', async (headers) => expect((await get('/Location/a', headers)).status).toBe(401))

  it('is recorded without an address, a key, parameters and a digest', async () => {
    await get('/Location/a?_format=json')
    await get('/Location?name=North')
    const [search, read] = auditRecordsOf(directory.folder).toReversed()
    const common = {
      at: '2027-01-04T12:00:00.000Z',
      requestId: expect.any(String),
      tenant: 'default',
      client: 'public',
      duration: expect.any(Number),
    }
    expect(read).toEqual({ ...common, interaction: 'read', type: 'Location', status: 200 })
    expect(search).toEqual({ ...common, interaction: 'search-type', type: 'Location', status: 200 })
  })
})

it('The CapabilityStatement documents the types of public read', async () => {
  const [{ security, resource }] = (await get('/metadata')).body.rest
  expect(security.description).toMatch(/except those that the documentation of a type allows/)
  const documented = resource.filter(({ documentation }: Tree) => documentation !== undefined)
  expect(documented.map(({ type, documentation }: Tree) => [type, documentation])).toEqual([
    ['Location', 'Without a token, all resources may be read and searched.'],
    ['Organization', 'Without a token, resources that match type=prov may be read and searched.'],
  ])
})

describe('a search without a token', () => {
  const search = (parameters: string) => get(`/Location?${parameters}`)
  const codeOf = async (parameters: string) => {
    const { status, body } = await search(parameters)
    return [status, body.issue?.[0].code]
  }

  it('has at most 100 entries on a page', async () => {
    const { body } = await search('_count=1000&_page=0')
    expect(body.link[0].url).toMatch(/_count=100&_page=0$/)
  })

  it('has at most 20 criteria and two sort keys', async () => {
    const names = (count: number) => Array.from({ length: count }, () => 'name=North').join('&')
    expect(await codeOf(names(20))).toEqual([200, undefined])
    expect(await codeOf(names(21))).toEqual([400, 'too-costly'])
    expect(await codeOf('_sort=name,_id')).toEqual([200, undefined])
    expect(await codeOf('_sort=name,_id,_lastUpdated')).toEqual([400, 'too-costly'])
  })

  it.each(['_group=name', '_total=accurate', `name=${'a'.repeat(4_000)}`, `unknown=${'a'.repeat(4_000)}`])(
    'is 400 with %s',
    async (parameters) => expect(await codeOf(parameters)).toEqual([400, 'too-costly']),
  )

  it('shows the parameters of a form in its links, and stores nothing', async () => {
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: '_count=1' }
    const page = (await (await directory.anybody.raw('/Location/_search', form)).json()) as Tree
    const next = page.link.find(({ relation }: Tree) => relation === 'next').url
    expect(next).toContain('_count=1&_cursor=')
    expect(existsSync(join(directory.folder, 'blobs', 'objects', 'queries'))).toBe(false)
    const path = next.slice(next.indexOf('/Location'))
    expect(idsOf((await get(path)).body)).toEqual(['b'])
    expect((await directory.administrator.get(path)).status).toBe(400)
  })

  it('counts matches without _total=accurate', async () => expect((await search('_summary=count')).body.total).toBe(2))
})

describe('the start of a server with public read', () => {
  const start = (settings: Readonly<Record<string, string>>) => () =>
    checkPublicRead(readConfig({ FHIR_PUBLIC_READ: 'system/Location.rs', ...settings }))

  it.each<[Readonly<Record<string, string>>, RegExp]>([
    [{ FHIR_PUBLIC_READ: 'system/Organization.rs?typ=prov' }, /the condition "typ=prov" is not decidable/],
    [{ FHIR_PUBLIC_READ: 'system/Location.rs?organization.name=Clinic' }, /the condition .* is not decidable/],
    [{ FHIR_ACCESS: 'open' }, /FHIR_PUBLIC_READ requires FHIR_ACCESS "token"/],
    [{ FHIR_TENANCY: 'on' }, /FHIR_PUBLIC_READ requires FHIR_PUBLIC_READ_TENANT/],
    [{ FHIR_PUBLIC_READ_TENANT: 'north' }, /FHIR_PUBLIC_READ_TENANT requires FHIR_TENANCY "on"/],
    [{ FHIR_TENANCY: 'on', FHIR_PUBLIC_READ_TENANT: '*' }, /must be the name of one tenant/],
  ])('is rejected with %j', (settings, reason) => expect(start(settings)).toThrow(reason))

  it.each(['Basic', 'Binary', 'Bundle', 'Consent', 'Coverage', 'Device', 'Group', 'Observation', 'Patient', 'Provenance', 'Task'])(
    'is rejected with the type %s',
    (type) => expect(start({ FHIR_PUBLIC_READ: `system/${type}.r` })).toThrow(`would open ${type}`),
  )
})

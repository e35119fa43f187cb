/** $meta over HTTP: of a resource, of a type, of everything. https://hl7.org/fhir/R4/resource-operation-meta.html @cloud */
import { beforeAll, expect, it } from '@jest/globals'
import { type Tree, withServer } from './server.ts'

const { put, get, delete: remove } = withServer()

const of = (path: string, headers?: Record<string, string>) => get(`${path}/$meta`, headers)
const metaIn = ({ status, body }: { readonly status: number; readonly body: Tree }) => {
  expect([status, body.resourceType, body.parameter.length, body.parameter[0].name]).toEqual([200, 'Parameters', 1, 'return'])
  return body.parameter[0].valueMeta
}
const NOTHING = { extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'not-applicable' }] }
const CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'
const own = (text: string) => `https://example.org/${text}`
const strong = { 'x-consistency': 'strong' }

let ofEmptyServer: readonly Awaited<ReturnType<typeof of>>[]
beforeAll(async () => {
  ofEmptyServer = [await of(''), await of('/Patient')]
})

it('$meta returns data-absent-reason if nothing is in use', () => expect(ofEmptyServer.map(metaIn)).toEqual([NOTHING, NOTHING]))

it('$meta of a resource is its meta, and 404 for an unknown one', async () => {
  const tag = [{ system: 'urn:t', code: 'x', display: 'As it was written' }]
  await put('/Patient/one', { resourceType: 'Patient', id: 'one', meta: { profile: [CORE], tag } }, strong)
  const { body } = await get('/Patient/one')
  expect(metaIn(await of('/Patient/one'))).toEqual(body.meta)
  expect(body.meta).toMatchObject({ versionId: '1', profile: [CORE], tag })
  expect(await of('/Patient/never')).toMatchObject({ status: 404, body: { issue: [{ code: 'not-found' }] } })
  await put('/Patient/gone', { resourceType: 'Patient', id: 'gone', meta: { profile: [own('gone')] } })
  await remove('/Patient/gone', strong)
  expect(await of('/Patient/gone')).toMatchObject({ status: 404, body: { issue: [{ code: 'deleted' }] } })
  expect((await of('/Patient/%20')).status).toBe(400)
  expect((await of('/Nonsense')).status).toBe(404)
  await remove('/Patient/one', strong)
})

it('$meta of a type and the system lists each used value once, in order', async () => {
  const both = [`${own('both')}|1.0`, own('both')]
  const security = [{ system: 'urn:s', code: 'R' }]
  await put('/Patient/m', { resourceType: 'Patient', id: 'm', meta: { profile: [`${CORE}|6.1.0`], tag: [{ system: 'urn:t', code: 'x' }] } })
  await put('/Patient/n', { resourceType: 'Patient', id: 'n', meta: { security, tag: [{ code: 'bare' }, { system: 'urn:only' }] } })
  await put('/Patient/o', { resourceType: 'Patient', id: 'o', meta: { tag: [{ system: 'urn:t', code: 'x' }], profile: both } })
  await put('/Basic/b', { resourceType: 'Basic', id: 'b', code: { text: 'x' }, meta: { security: [...security, { code: 'N' }] } })
  await put(
    '/Basic/c',
    { resourceType: 'Basic', id: 'c', code: { text: 'x' }, meta: { profile: [`${own('v')}|2`, `${own('v')}|1`] } },
    strong,
  )
  const patients = {
    profile: [CORE, own('both')].sort().flatMap((each) => (each === CORE ? [`${CORE}|6.1.0`] : [`${each}|1.0`])),
    security,
    tag: [{ system: 'urn:only' }, { system: 'urn:t', code: 'x' }, { code: 'bare' }],
  }
  expect(metaIn(await of('/Patient'))).toEqual(patients)
  expect(metaIn(await of(''))).toEqual({
    profile: [...patients.profile, `${own('v')}|1`, `${own('v')}|2`].sort(),
    security: [...security, { code: 'N' }],
    tag: patients.tag,
  })
  // What is used without a version beside is told without, too; what is used no more is not told.
  await put('/Patient/p', { resourceType: 'Patient', id: 'p', meta: { profile: [own('both')] } })
  const answer = await put('/Patient/n', { resourceType: 'Patient', id: 'n' }, strong)
  const token = { 'x-index-token': answer.headers.get('x-index-token')! }
  expect(metaIn(await of('/Patient', token))).toEqual({
    profile: [...patients.profile, own('both')].sort(),
    tag: [{ system: 'urn:t', code: 'x' }],
  })
  expect((await of('/Patient', { 'x-index-token': 'nonsense' })).status).toBe(400)
})

it('$meta is claimed for each type and for the system', async () => {
  const [{ operation, resource }] = (await get('/metadata')).body.rest
  const meta = { name: 'meta', definition: 'http://hl7.org/fhir/OperationDefinition/Resource-meta' }
  for (const { operation: ofType } of [{ operation }, ...resource]) expect(ofType).toContainEqual(meta)
})

/** Steps of the client of Medplum. https://www.medplum.com/docs/sdk/core.medplumclient */
import type { Tree } from '../fixtures/resources.ts'
import { createdKeysOf, criterion, expectSame, person, rejectionStatusOf, transactionOf } from './expectations.ts'
import type { ClientSteps } from './steps.ts'

/** Not a literal in the import, because the types of the module require another package. */
const MODULE = '@medplum/core'
const { MedplumClient } = (await import(MODULE)) as { readonly MedplumClient: new (options: object) => Tree }

const NAME = 'Medplum'
const codeOf = (error: Tree): unknown => error.outcome?.issue[0].code

export function medplum(base: string): ClientSteps {
  const client = new MedplumClient({ baseUrl: base.replace(/fhir$/, ''), fhirUrlPath: 'fhir', cacheTime: 0 })
  const create = (key: string): Promise<Tree> => client.createResource(person(NAME, key))
  const put = (resource: Tree, match: string): Promise<Tree> => client.updateResource(resource, { headers: { 'if-match': match } })
  const read = (id: string): Promise<Tree> => client.readResource('Patient', id, { cache: 'reload' })
  const found = (key: string): Promise<Tree> => client.search('Patient', criterion(NAME, key), { cache: 'reload' })
  return {
    capabilities: async () => {
      const { fhirVersion, rest }: Tree = await client.get(client.fhirUrl('metadata'))
      expectSame([fhirVersion, rest[0].mode], ['4.0.1', 'server'])
    },
    create: async () => {
      const { id, meta } = await create('create')
      expectSame([typeof id, meta.versionId, (await read(id)).name[0].family], ['string', '1', `${NAME}-create`])
    },
    'update with If-Match': async () => {
      const created = await create('update')
      const changed = await put({ ...created, gender: 'female' }, 'W/"1"')
      expectSame([changed.gender, changed.meta.versionId], ['female', '2'])
      const first: Tree = await client.readVersion('Patient', created.id, '1')
      expectSame(first.gender, undefined)
    },
    'a stale If-Match is rejected': async () => {
      const created = await create('stale')
      await put({ ...created, gender: 'female' }, 'W/"1"')
      expectSame(await rejectionStatusOf(put({ ...created, gender: 'male' }, 'W/"1"'), codeOf), 'conflict')
    },
    'conditional create': async () => {
      const createOnce = (): Promise<Tree> => client.createResourceIfNoneExist(person(NAME, 'conditional'), criterion(NAME, 'conditional'))
      const [one, two] = [await createOnce(), await createOnce()]
      expectSame([two.id, (await found('conditional')).total], [one.id, 1])
    },
    'conditional update': async () => {
      const upsert = (more: Tree): Promise<Tree> => client.upsertResource(person(NAME, 'upsert', more), criterion(NAME, 'upsert'))
      const [one, two] = [await upsert({}), await upsert({ gender: 'male' })]
      expectSame([two.id, two.meta.versionId, two.gender], [one.id, '2', 'male'])
    },
    'conditional delete': async () => {
      await create('gone')
      await client.delete(`${client.fhirUrl('Patient')}?${criterion(NAME, 'gone')}`)
      expectSame((await found('gone')).total, 0)
    },
    patch: async () => {
      const { id } = await create('patch')
      const patched: Tree = await client.patchResource('Patient', id, [{ op: 'add', path: '/active', value: true }])
      expectSame([patched.active, patched.meta.versionId], [true, '2'])
    },
    delete: async () => {
      const { id } = await create('delete')
      await client.deleteResource('Patient', id)
      expectSame(await rejectionStatusOf(read(id), codeOf), 'deleted')
    },
    'paged search': async () => {
      for (let i = 0; i < 5; i++) await create('page')
      const ids: string[] = []
      for await (const page of client.searchResourcePages('Patient', `${criterion(NAME, 'page')}&_count=2`))
        ids.push(...page.map(({ id }: Tree) => id))
      expectSame([ids.length, new Set(ids).size], [5, 5])
    },
    _include: async () => {
      const { id } = await create('include')
      await client.createResource({
        resourceType: 'Observation',
        status: 'final',
        code: { text: 'x' },
        subject: { reference: `Patient/${id}` },
      })
      const { entry }: Tree = await client.search('Observation', `patient=${id}&_include=Observation:patient`)
      expectSame(
        entry.map(({ search }: Tree) => search.mode),
        ['match', 'include'],
      )
    },
    transaction: async () => {
      const [patient, observation] = createdKeysOf(await client.executeBatch(transactionOf(NAME)))
      const created: Tree = await client.readResource('Observation', observation!.split('/')[1]!)
      expectSame(created.subject.reference, patient)
    },
    history: async () => {
      const { id } = await create('history')
      await client.deleteResource('Patient', id)
      const { entry }: Tree = await client.readHistory('Patient', id)
      expectSame(
        entry.map(({ request }: Tree) => request.method),
        ['DELETE', 'POST'],
      )
    },
  }
}

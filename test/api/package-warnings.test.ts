/** Effects of a package on the data of tenants: reported before it is added, and by the next write of a definition that it also has. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { type AddedPackage, type AddOptions, addPackage, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { writeArchiveFile } from '../fixtures/packages.ts'
import { clientOf, startServer, type TestClient, type Tree } from './server.ts'

const GUIDE = 'http://example.org/guide'
const parameter = (id: string, url: string, expression: string, code = 'writer'): Tree => ({
  ...{ resourceType: 'SearchParameter', id, url, name: 'own', status: 'active', description: 'x', code, base: ['Basic'] },
  ...{ type: 'reference', expression },
})
const valueSet: Tree = {
  ...{ resourceType: 'ValueSet', id: 'colors', url: `${GUIDE}/ValueSet/colors`, version: '1.0.0', status: 'active' },
  compose: { include: [{ system: 'http://example.org/codes', concept: [{ code: 'red' }] }] },
}
const PACKAGED = parameter('packaged', `${GUIDE}/SearchParameter/writer`, 'Basic.author')
const OLDER = parameter('older', 'http://example.org/older', 'Basic.subject')
const SAME = parameter('same', PACKAGED.url, 'Basic.author')
const NEWER = parameter('newer', 'http://example.org/newer', 'Basic.extension.value.ofType(Reference)')

describe('a package with the definitions of a tenant', () => {
  let client: TestClient
  let add: (options?: AddOptions) => Promise<AddedPackage>
  const warningsOf = async (resource: Tree): Promise<readonly string[]> => {
    const headers = { prefer: 'return=OperationOutcome' }
    const { body } = await client.put(`/${resource.resourceType}/${resource.id}`, resource, headers)
    return body.issue.flatMap(({ severity, expression, details }: Tree) =>
      severity === 'warning' ? [`${expression[0]}: ${details.text}`] : [],
    )
  }
  beforeAll(async () => {
    const data = newFolder()
    const { embedded, base } = await startServer({}, data)
    runAtEnd(() => embedded.close())
    client = clientOf(() => base)
    for (const resource of [OLDER, valueSet]) await client.put(`/${resource.resourceType}/${resource.id}`, resource)
    for (const id of ['a', 'b']) {
      const code = { coding: [{ code: 'x', system: 'http://example.org/codes' }] }
      await client.put(`/Basic/${id}`, { resourceType: 'Basic', id, code, author: { reference: 'Practitioner/a' } })
    }
    await client.delete('/Basic/b')
    const file = await writeArchiveFile({
      'package/package.json': { name: 'example.guide', version: '1.0.0', fhirVersions: ['4.0.1'] },
      'package/SearchParameter-writer.json': PACKAGED,
      'package/ValueSet-colors.json': valueSet,
    })
    add = async (options) => {
      const packages = await openPackages(data)
      try {
        return (await addPackage(packages, { file }, options))[0]!
      } finally {
        await packages.close()
      }
    }
  })

  it('is described with the documents to index again and the definitions of tenants', async () => {
    const { rebuilt, ofTenants } = await add({ isDryRun: true })
    expect(rebuilt).toEqual([{ type: 'Basic', documents: 1 }])
    expect(ofTenants).toEqual([
      { tenant: 'default', resource: 'SearchParameter/older', name: 'Basic?writer' },
      { tenant: 'default', resource: 'ValueSet/colors', name: `${GUIDE}/ValueSet/colors` },
    ])
    expect(await warningsOf(OLDER)).toEqual([])
  })

  it('is a warning of the next write of each of them', async () => {
    const { ofTenants } = await add()
    expect(ofTenants.map(({ resource }) => resource)).toEqual(['SearchParameter/older', 'ValueSet/colors'])
    const text = 'SearchParameter.code: A package of this server also defines this code on Basic'
    await eventually(() => warningsOf(OLDER), { until: (found) => found.length > 0, every: 10, within: 60_000 })
    expect(await warningsOf(OLDER)).toEqual([`${text}: searches use this definition, which was there before`])
    expect(await warningsOf(NEWER)).toEqual([`${text}: searches do not use this definition, which was written later`])
    expect(await warningsOf(SAME)).toEqual([])
    expect(await warningsOf(valueSet)).toEqual([
      'ValueSet.url: R4 or a package of this server defines this canonical, which stays what it is',
    ])
  })
})

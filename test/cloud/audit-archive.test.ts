/**
 * The archive of audit records on deployed stacks: the setting is added to a stage, then ended. MiniStack ignores Object Lock, so
 * test/infra/audit-archive.test.ts tests it in the template.
 */
import { S3Client } from '@aws-sdk/client-s3'
import { expect, it } from '@jest/globals'
import { S3AuditArchiveReader } from '../../lambdas/adapters/s3/audit-archive.ts'
import { readAuditMinutes } from '../../lambdas/ports/security/audit-source.ts'
import { collect } from '../fixtures/collect.ts'
import { eventually } from '../fixtures/eventually.ts'
import { patient } from '../fixtures/resources.ts'
import { OPEN_ACCESS } from './assembly.ts'
import type { DeploymentDescription } from './cloud.ts'
import { requestDeployment, runOnCloud } from './requested-deployment.ts'

const REQUEST = { settings: OPEN_ACCESS, here: true }

const bucketOf = ({ deployment }: DeploymentDescription): string | undefined =>
  Object.values(deployment.outputs).find(({ AuditBucketName }) => AuditBucketName !== undefined)?.AuditBucketName

runOnCloud('the archive of a stage', REQUEST, (cloud, { put }) => {
  it('holds the records of requests from the setting on, and remains when the setting is 0', async () => {
    expect(bucketOf(cloud())).toBeUndefined()
    const added = await requestDeployment({ ...REQUEST, onto: { auditArchiveYears: 1 } })
    const bucket = bucketOf(added)!
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const client = new S3Client({ endpoint: added.awsEndpoint, region: 'us-east-1', credentials, forcePathStyle: true })
    const since = Date.now() - 60_000
    const archived = async (): Promise<readonly string[]> => {
      const sources = [new S3AuditArchiveReader(client, bucket)]
      const records = await collect(readAuditMinutes(sources, { from: since, to: Date.now() + 60_000 }, {}))
      return records.flatMap(({ interaction, key }) => (interaction === 'update' && key !== undefined ? [key] : []))
    }
    for (const id of ['a', 'b']) expect((await put(`/Patient/${id}`, patient(id))).status).toBe(201)
    const keys = ['Patient/a', 'Patient/b']
    expect(await eventually(archived, { until: (found) => found.length >= keys.length, every: 500 })).toEqual(keys)
    expect(bucketOf(await requestDeployment({ ...REQUEST, onto: { auditArchiveYears: 0 } }))).toBe(bucket)
    expect((await put('/Patient/c', patient('c'))).status).toBe(201)
    expect(await archived()).toEqual(keys)
    client.destroy()
  })
})

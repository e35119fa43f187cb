/** Token verification in deployed functions: keys and revocations are in the state table and read rarely. On an emulator. */
import { afterAll, expect, it } from '@jest/globals'
import { DynamoDbRevocations } from '../../../lambdas/adapters/dynamodb/rows/revocations.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { KEY_LIST, type KmsKey, publishedKeys } from '../../../lambdas/adapters/kms/published-keys.ts'
import { createTestIssuer, KEY, SECOND_MS, settleBackgroundReads, type TestIssuer } from '../../access/issuing.ts'
import { type ClientFault, withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'

await runOnDynamo((engine) => {
  afterAll(() => engine.stop())

  it('A function caches keys for ten seconds, revocations for three, and reports failed reads', async () => {
    const table = await engine.newTable()
    const calls: string[] = []
    let fault: ClientFault | undefined
    const plan = ({ name }: { readonly name: string }): ClientFault | undefined => {
      calls.push(name)
      return fault
    }
    const state = new TableClient(withFaults(engine.client, plan), table, { attempts: 1, patience: 5_000 })
    const elsewhere = new TableClient(engine.client, table, { attempts: 8, patience: 60_000 })
    const kept = new DynamoDbSharedState<readonly KmsKey[]>(elsewhere, KEY_LIST, [])
    await kept.change(() => [{ id: 'in-kms', key: KEY.published, madeAt: 0 }])
    const now = (): number => it.now
    const it: TestIssuer = createTestIssuer({
      keys: publishedKeys(new DynamoDbSharedState<readonly KmsKey[]>(state, KEY_LIST, [])),
      revocations: new DynamoDbRevocations(state, now),
    })

    const token = it.token()
    for (let i = 0; i < 10; i++) expect(await it.verifyToken(token)).toMatchObject({ client: 'app' })
    expect(calls).toEqual(['Get', 'BatchGet'])
    await new DynamoDbRevocations(elsewhere, now).revoke({ mark: 'client:app', before: it.now, until: it.now + 3_600 * SECOND_MS })
    it.now += 3 * SECOND_MS
    for (let i = 0; i < 3; i++) await expect(it.verifyToken(token)).rejects.toMatchObject({ status: 401 })
    expect(calls).toEqual(['Get', 'BatchGet', 'BatchGet'])

    it.now += 10 * SECOND_MS
    const later = it.token()
    fault = 'throttled'
    await expect(it.verifyToken(later)).rejects.toMatchObject({ fault: 'unavailable' })
    await settleBackgroundReads()
    fault = undefined
    it.now += SECOND_MS
    expect(await it.verifyToken(later)).toMatchObject({ client: 'app' })
  })
})

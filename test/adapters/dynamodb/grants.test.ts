/** Rows of a deployed authorization server, on an emulator: the contracts, and lost answers. */
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, describe, expect, it } from '@jest/globals'
import { DynamoDbGrants } from '../../../lambdas/adapters/dynamodb/rows/grants.ts'
import { DynamoDbClients, DynamoDbUsers } from '../../../lambdas/adapters/dynamodb/rows/registered.ts'
import { DynamoDbRevocations } from '../../../lambdas/adapters/dynamodb/rows/revocations.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import type { Client } from '../../../lambdas/ports/rows/clients.ts'
import { clientsContract } from '../../contracts/clients.contract.ts'
import { grantsContract, PAGE_UNDER_TEST } from '../../contracts/grants.contract.ts'
import { revocationsContract } from '../../contracts/revocations.contract.ts'
import { usersContract } from '../../contracts/users.contract.ts'
import { type ClientFault, withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'

const LIMITS = { attempts: 8, patience: 60_000 }

await runOnDynamo((engine) => {
  afterAll(() => engine.stop())

  /** A table with a clock. `written`: number of write calls. */
  async function tableUnderTest() {
    const table = await engine.newTable()
    const clock = { now: 0 }
    let writes = 0
    const plan = ({ name }: { readonly name: string }): ClientFault | undefined => {
      if (['Put', 'Delete', 'TransactWrite'].includes(name)) writes++
      return undefined
    }
    return {
      table,
      dynamo: () => new TableClient(withFaults(engine.client, plan), table, LIMITS),
      now: () => clock.now,
      setTime: (now: number) => void Object.assign(clock, { now }),
      written: () => writes,
    }
  }

  clientsContract('dynamodb', async () => {
    const { dynamo, written } = await tableUnderTest()
    return { open: async () => new DynamoDbClients(dynamo()), written }
  })

  usersContract('dynamodb', async () => {
    const { dynamo, written } = await tableUnderTest()
    return { open: async () => new DynamoDbUsers(dynamo()), written }
  })

  grantsContract('dynamodb', async () => {
    const { dynamo, now, setTime } = await tableUnderTest()
    return { open: async () => new DynamoDbGrants(dynamo(), now, PAGE_UNDER_TEST), setTime, taken: async () => undefined }
  })

  revocationsContract('dynamodb', async () => {
    const { dynamo, now, setTime } = await tableUnderTest()
    return { open: async () => new DynamoDbRevocations(dynamo(), now), setTime, taken: async () => undefined }
  })

  describe('A deployed authorization server', () => {
    const itemsIn = async (TableName: string): Promise<readonly Record<string, unknown>[]> =>
      (await engine.client.send(new ScanCommand({ TableName }))).Items ?? []

    /** Loses the answer of the first write, which takes effect. */
    const losing = (table: string): TableClient => {
      let isLost = false
      const plan = ({ name }: { readonly name: string }): ClientFault | undefined => {
        if (isLost || !['Put', 'TransactWrite'].includes(name)) return undefined
        isLost = true
        return 'lost answer'
      }
      return new TableClient(withFaults(engine.client, plan), table, LIMITS)
    }

    it('finds out that a write took effect although its answer was lost', async () => {
      const { table, now } = await tableUnderTest()
      const client = { id: 'a', scopes: [] } as unknown as Client
      const added = new DynamoDbClients(losing(table)).change('a', (known) => {
        if (known !== undefined) throw new Error('there is one already')
        return client
      })
      expect(await added).toEqual(client)
      const grant = { owner: 'o', value: 1, expires: 10 }
      expect(await new DynamoDbGrants(losing(table), now).add('assertion', 'jti', grant)).toBe(true)
      const grants = new DynamoDbGrants(losing(table), now)
      const known = (await grants.get('assertion', 'jti'))!
      expect(await grants.replace('assertion', known, { ...grant, value: 2 })).toBe(true)
      expect(await new DynamoDbGrants(losing(table), now).remove('assertion', 'jti')).toBe(true)
      const revocations = new DynamoDbRevocations(losing(table), now)
      await revocations.revoke({ mark: 'sid:a', before: 1, until: 2 })
      expect(await revocations.revoked(['sid:a'])).toEqual(new Map([['sid:a', 1]]))
    })

    it('lets the table delete expired rows, never early, and keeps rows without expiry', async () => {
      const { table, dynamo, now } = await tableUnderTest()
      const grants = new DynamoDbGrants(dynamo(), now)
      await grants.add('code', 'k', { owner: 'o', value: 1, expires: 10_001 })
      await grants.add('consent', 'k', { owner: 'o', value: 1 })
      await new DynamoDbRevocations(dynamo(), now).revoke({ mark: 'sid:a', before: 1, until: 20_001 })
      const ends = (await itemsIn(table)).map(({ pk, expires }) => [String(pk).split('#').slice(0, 2).join('#'), expires])
      expect(ends.map(([pk, end]) => [String(pk).startsWith('REVOKED') ? 'REVOKED' : pk, end]).toSorted()).toEqual([
        ['GRANT#code', 11],
        ['GRANT#consent', undefined],
        ['OWNED#code', 11],
        ['OWNED#consent', undefined],
        ['REVOKED', 21],
      ])
    })

    it('removes every item of a grant that is removed or changes its owner', async () => {
      const { table, dynamo, now } = await tableUnderTest()
      const grants = new DynamoDbGrants(dynamo(), now)
      await grants.add('session', 'k', { owner: 'before', value: 1 })
      await grants.replace('session', (await grants.get('session', 'k'))!, { owner: 'after', value: 2 })
      expect(await itemsIn(table)).toHaveLength(2)
      await grants.remove('session', 'k')
      expect(await itemsIn(table)).toEqual([])
    })

    it('reads all revocation keys of a token in one consistent call', async () => {
      const { table, now } = await tableUnderTest()
      const calls: string[] = []
      const plan = ({ name, text }: { readonly name: string; readonly text: string }): ClientFault | undefined => {
        calls.push(`${name} ${(text.match(/"ConsistentRead":true/g) ?? []).length}`)
        return undefined
      }
      await new DynamoDbRevocations(new TableClient(withFaults(engine.client, plan), table, LIMITS), now).revoked([
        'jti:a',
        'sid:a',
        'client:a',
        'user:a',
      ])
      expect(calls).toEqual(['BatchGet 1'])
    })
  })
})

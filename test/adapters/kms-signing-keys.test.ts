/** Signing keys in KMS: on the engine of KMS_ENDPOINT if it is set, else with a double that signs. */
import {
  CreateAliasCommand,
  CreateKeyCommand,
  DescribeKeyCommand,
  KMSClient,
  ListResourceTagsCommand,
  paginateListAliases,
  ScheduleKeyDeletionCommand,
} from '@aws-sdk/client-kms'
import { describe, expect, it } from '@jest/globals'
import { type KmsKey, publishedKeys } from '../../lambdas/adapters/kms/published-keys.ts'
import { KmsSigningKeys } from '../../lambdas/adapters/kms/signing-keys.ts'
import type { SharedState } from '../../lambdas/ports/rows/shared-state.ts'
import { isSignedWith, signingKeysContract } from '../contracts/signing-keys.contract.ts'
import { createMemoryKms } from '../fixtures/kms.ts'

/** A shared state. Each change runs twice, as a retry after a lost answer does. */
function keptInMemory(): SharedState<readonly KmsKey[]> {
  let kept = { number: 0, value: '[]' }
  const read = async () => ({ number: kept.number, value: JSON.parse(kept.value) as readonly KmsKey[] })
  return {
    read,
    async change(change) {
      for (let round = 0; round < 2; round++) {
        const value = JSON.parse(kept.value) as readonly KmsKey[]
        const changed = change(value)
        if (changed !== value) kept = { number: kept.number + 1, value: JSON.stringify(changed) }
      }
      return read()
    },
  }
}

const stage = 'test'
const endpoint = process.env.KMS_ENDPOINT

if (endpoint !== undefined) {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
  const client = new KMSClient({ endpoint, region: 'us-east-1', credentials })

  signingKeysContract(`KMS of ${endpoint}`, async () => {
    const kept = keptInMemory()
    return { open: async () => new KmsSigningKeys({ kept, stage, client }) }
  })

  it('A key of KMS is for signing, tagged, and scheduled for deletion on removal', async () => {
    const kept = keptInMemory()
    const keys = new KmsSigningKeys({ kept, stage, client })
    const { key } = await keys.make(1)
    const KeyId = (await kept.read()).value[0]!.id
    const { KeyMetadata } = await client.send(new DescribeKeyCommand({ KeyId }))
    expect(KeyMetadata).toMatchObject({ KeySpec: 'RSA_2048', KeyUsage: 'SIGN_VERIFY', KeyState: 'Enabled' })
    expect((await client.send(new ListResourceTagsCommand({ KeyId }))).Tags).toEqual([{ TagKey: 'fhir-stage', TagValue: 'test' }])
    const aliases: (string | undefined)[] = []
    for await (const page of paginateListAliases({ client }, {}))
      for (const { AliasName, TargetKeyId } of page.Aliases ?? []) if (TargetKeyId === KeyId) aliases.push(AliasName)
    expect(aliases).toEqual([`alias/fhir-test/signing/${KeyId}`])
    await keys.remove(key.kid)
    expect((await client.send(new DescribeKeyCommand({ KeyId }))).KeyMetadata?.KeyState).toBe('PendingDeletion')
  })
} else {
  const { mock, held } = createMemoryKms()
  const open = (kept: SharedState<readonly KmsKey[]>) => new KmsSigningKeys({ kept, stage, client: new KMSClient({ region: 'us-east-1' }) })

  signingKeysContract('KMS', async () => {
    const kept = keptInMemory()
    return { open: async () => open(kept) }
  })

  describe('A key of KMS', () => {
    it('is tagged, stored once, and published to verifiers without its id', async () => {
      const kept = keptInMemory()
      const made = await open(kept).make(5)
      expect(mock.commandCalls(CreateKeyCommand).at(-1)?.args[0].input.Tags).toEqual([{ TagKey: 'fhir-stage', TagValue: 'test' }])
      const { value } = await kept.read()
      expect([value.length, held.has(value[0]!.id)]).toEqual([1, true])
      expect(await publishedKeys(kept).list()).toEqual([made])
    })

    it('is scheduled for deletion on removal, also if an earlier removal was interrupted', async () => {
      const kept = keptInMemory()
      const { key } = await open(kept).make(5)
      const { id } = (await kept.read()).value[0]!
      const killed = open({ ...kept, change: () => Promise.reject(new Error('killed')) })
      await expect(killed.remove(key.kid)).rejects.toThrow('killed')
      expect([held.get(id)?.isPending, (await kept.read()).value.length]).toEqual([true, 1])
      await open(kept).remove(key.kid)
      expect((await kept.read()).value).toEqual([])
      expect(mock.commandCalls(ScheduleKeyDeletionCommand).at(-1)?.args[0].input).toEqual({ KeyId: id, PendingWindowInDays: 7 })
    })

    it('is scheduled for deletion if unlisted for an hour; foreign keys stay', async () => {
      held.clear()
      const kept = keptInMemory()
      const killed = open({ ...kept, change: () => Promise.reject(new Error('killed')) })
      await expect(killed.make(5)).rejects.toThrow('killed')
      const lost = [...held.keys()].at(-1)!
      await open(kept).make(5)
      const others = new KMSClient({ region: 'us-east-1' })
      const Tags = [{ TagKey: 'fhir-stage', TagValue: 'other' }]
      for (const [more, alias] of [
        [{}, 'alias/own'],
        [{}, 'alias/fhir-test/signing/1'],
        [{ Tags }, 'alias/fhir-test/signing/2'],
        [{ Tags }, 'alias/fhir-other/signing/1'],
      ] as const) {
        const { KeyMetadata } = await others.send(new CreateKeyCommand({ KeySpec: 'RSA_2048', KeyUsage: 'SIGN_VERIFY', ...more }))
        const named = new CreateAliasCommand({ AliasName: alias, TargetKeyId: KeyMetadata!.KeyId! })
        await others.send(named).catch(() => others.send(named))
      }
      const pending = () => [...held].filter(([, { isPending }]) => isPending).map(([id]) => id)
      const made = held.get(lost)!.madeAt.getTime()
      await open(kept).removeLost(made + 3_600_000)
      expect([pending(), held.size]).toEqual([[], 6])
      const before = mock.commandCalls(ListResourceTagsCommand).length
      await open(kept).removeLost(made + 7_200_000)
      expect(pending()).toEqual([lost])
      // Only keys with an alias of the stage are looked at.
      expect(mock.commandCalls(ListResourceTagsCommand).length - before).toBe(3)
    })

    it('signs data longer than KMS accepts', async () => {
      const keys = open(keptInMemory())
      const made = await keys.make(5)
      const data = Buffer.alloc(9_000, 'a')
      expect(isSignedWith(made, data, await keys.sign(made.key.kid, data))).toBe(true)
    })
  })
}

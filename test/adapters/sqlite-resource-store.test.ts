/** The resource store of the embedded home. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite/resource-store.ts'
import { resourceStoreContract } from '../contracts/resource-store.contract.ts'

resourceStoreContract('SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-store-'))
  const store = await SqliteResourceStore.open({ file: join(folder, 'store.db') })
  const close = async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  }
  return { reader: store, writer: store, close }
})

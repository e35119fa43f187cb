/** Blobs of the embedded home. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { blobStoreContract } from '../contracts/blob-store.contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'fhir-blobs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

blobStoreContract('filesystem', async () => new FilesystemBlobStore(folder))

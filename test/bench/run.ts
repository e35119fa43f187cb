/**
 * Runs a benchmark:
 * - `npm run bench`: rates of the server, compared with floors (rates.ts)
 * - `npm run bench -- worst`: the most expensive known requests (worst-requests.ts)
 * - `npm run bench -- auth`: verification of access tokens (auth.ts)
 * - `npm run bench -- export`: exports (export.ts)
 * - `npm run bench -- profiles`: the check against US Core (profiles.ts)
 * - `npm run bench -- disk`: documents in OpenSearch (disk.ts)
 * - `npm run bench -- explorer`: pages of the explorer in a browser (explorer.ts)
 * - `npm run bench -- sizes`: searches at several sizes (sizes.ts)
 * - `npm run bench -- payer`: matches of members, exports for partners, and packages (payer.ts)
 */
import { stopAll } from './served.ts'

const BENCHES: Readonly<Record<string, () => Promise<unknown>>> = {
  worst: () => import('./worst-requests.ts'),
  auth: () => import('./auth.ts'),
  export: () => import('./export.ts'),
  profiles: () => import('./profiles.ts'),
  disk: () => import('./disk.ts'),
  explorer: () => import('./explorer.ts'),
  sizes: () => import('./sizes.ts'),
  payer: () => import('./payer.ts'),
}

try {
  await (BENCHES[process.argv[2] ?? ''] ?? (() => import('./rates.ts')))()
} finally {
  await stopAll()
}

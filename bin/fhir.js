#!/usr/bin/env node
/** Says in one line when this Node is too old to read the command line itself. */
const needed = 24

if (Number(process.versions.node.split('.')[0]) < needed) {
  console.error(`fhir: Node ${needed} or newer is needed, this is ${process.version} (npm ci brings one: use npm start, npm run fhir)`)
  process.exitCode = 1
} else {
  const { enableCompileCache } = await import('node:module')
  // Types are stripped once, not at every start.
  enableCompileCache()
  await import('./fhir.ts')
}

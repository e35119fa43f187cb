/** Before each test file: which of the deployments is that of this worker of jest, by what run.ts tells in FHIR_LANES. */
const lanes = JSON.parse(process.env.FHIR_LANES!) as readonly Readonly<Record<string, string>>[]
Object.assign(process.env, lanes[(Number(process.env.JEST_WORKER_ID) - 1) % lanes.length])

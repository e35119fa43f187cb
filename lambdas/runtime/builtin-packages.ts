/** The packages that every server has: what R4 says beyond structure, US Core, and value sets that US regulation fixes. */
import { fileURLToPath } from 'node:url'

export const BUILTIN_PACKAGES: readonly string[] = ['hl7.fhir.r4.core-4.0.1', 'hl7.fhir.us.core-6.1.0', 'us-value-sets-1.0.0'].map((name) =>
  fileURLToPath(new URL(`../fhir/definitions/packages/${name}`, import.meta.url)),
)

/** Packages of definitions that every server contains: R4 beyond its base structures, US Core, and value sets fixed by US regulation. */
import { fileURLToPath } from 'node:url'

export const BUILTIN_PACKAGES: readonly string[] = ['hl7.fhir.r4.core-4.0.1', 'hl7.fhir.us.core-6.1.0', 'us-value-sets-1.0.0'].map((name) =>
  fileURLToPath(new URL(`../fhir/definitions/packages/${name}`, import.meta.url)),
)

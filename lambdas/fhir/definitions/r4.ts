/** R4 definitions as data, generated from HL7's definitions. Half a megabyte: an AWS function that only reads should not load it. */
import type { TypeDefinitions } from '../path/definitions.ts'
import codeSets from './code-sets.json' with { type: 'json' }
import resourceTypes from './resource-types.json' with { type: 'json' }
import shapes from './shapes.json' with { type: 'json' }
import targets from './targets.json' with { type: 'json' }

export const R4: TypeDefinitions = {
  resourceTypes,
  shapes: shapes as TypeDefinitions['shapes'],
  codeSets: codeSets as TypeDefinitions['codeSets'],
  targets,
}

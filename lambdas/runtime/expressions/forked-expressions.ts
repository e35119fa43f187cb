/** Evaluates expressions of clients, on a process that is told nothing of this one's. */
import { ForkedExpressionRunner } from '../../adapters/in-process/expression-runner.ts'
import { readProgramEnvironment } from '../config.ts'
import { EXPRESSION_PROGRAM } from './expression-program.ts'

export const expressionRunner = (): ForkedExpressionRunner =>
  new ForkedExpressionRunner({ program: EXPRESSION_PROGRAM, environment: readProgramEnvironment() })

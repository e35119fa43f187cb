/** Evaluates expressions of clients in a child process, which gets no settings or secrets of the server. */
import { ForkedExpressionRunner } from '../../adapters/in-process/expression-runner.ts'
import { readProgramEnvironment } from '../config.ts'
import { EXPRESSION_PROGRAM } from './expression-program.ts'

export const expressionRunner = (): ForkedExpressionRunner =>
  new ForkedExpressionRunner({ program: EXPRESSION_PROGRAM, environment: readProgramEnvironment() })

import type { Texts } from '.';
import { fleet } from './zh/fleet';
import { flow } from './zh/flow';
import { form } from './zh/form';
import { frame } from './zh/frame';
import { server } from './zh/server';
import { space } from './zh/space';
import { work } from './zh/work';

export const zh: Texts = { ...frame, ...work, ...fleet, ...flow, ...form, ...space, ...server };

// Stands in for CUDA's header of this name: numbers that are loaded at once. Only what this project uses is here.
#pragma once

struct alignas(16) double2 {
  double x, y;
};

struct alignas(16) float4 {
  float x, y, z, w;
};

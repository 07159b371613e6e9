// Single elements of an operand, and what an order of summation is asked and checked with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

// What a question puts into an operand of one type.
struct OrderNumbers {
  double huge;  // takes in all ones that are added to it
  double one;   // what counts as 1
  double tiny;  // 1 + e, whose square loses its last bit when it is rounded; 0: no square does
  int largest;  // so many ones are told apart by a result of this type
};

OrderNumbers order_numbers(const at::Tensor& tensor);

// Row-major by its shape, wherever its strides put it; on the CPU, of a floating-point type.
void set_element(const at::Tensor& tensor, std::int64_t element, double value);
double element_of(const at::Tensor& tensor, std::int64_t element);

// All of them, row-major.
std::vector<double> plain_values(const at::Tensor& tensor);

// Bell-shaped, of full precision in the tensor's type, each times a power of two that goes with its place if they are
// to be of many sizes. The same on every stack.
at::Tensor random_operand(const at::Tensor& as, std::uint64_t seed, const std::string& name, bool of_many_sizes);

}  // namespace reprobench
